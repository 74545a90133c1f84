// Package site holds what is true of a place and not of a program.
//
//	site.yaml ──ParseSettings──→ Settings   what its people decided (partition, binds …)
//	node ─────(internal/collect)→ Facts   what was seen there, each value with its source
//
// The package does no effects.
package site

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/nearmetal/nearmetal/internal/fail"
)

// Settings are a site's defaults for every launch; flags win over them.
type Settings struct {
	Partition string   `yaml:"partition"` // srun -p
	Account   string   `yaml:"account"`   // srun -A
	QOS       string   `yaml:"qos"`       // srun -q
	MPI       string   `yaml:"mpi"`       // Slurm's MPI plugin, "pmix" unless set
	Binds     []string `yaml:"binds"`     // for containers: "/path", "/path:/dest", "/path:/dest:ro"
	Scratch   string   `yaml:"scratch"`   // directory on each node's local disk
	Modules   []string `yaml:"modules"`   // loaded for native programs
	Srun      []string `yaml:"srun"`      // further srun options, one a line
}

// yamlLine moves yaml.v3's "line 3:" in front, as compilers write it.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\n\s*)?line (\d+): `)

// ParseSettings reads a site.yaml; name is used in errors. An unknown key is
// an error with its line.
func ParseSettings(r io.Reader, name string) (Settings, error) {
	var s Settings
	text, err := io.ReadAll(r)
	if err != nil {
		return s, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		msg := yamlLine.ReplaceAllString(err.Error(), "$1: ")
		msg = strings.ReplaceAll(strings.TrimPrefix(msg, "yaml: "), " in type site.Settings", "")
		return Settings{}, fail.Usagef("known keys: partition, account, qos, mpi, binds, scratch, modules, srun", "%s:%s", name, msg)
	}
	return s, nil
}
