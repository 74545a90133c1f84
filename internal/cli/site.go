package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/site"
	"github.com/nearmetal/nearmetal/slurm"
)

// settings reads the site's settings: the file asked for, or the user's own
// when there is one.
func settings(d Deps, file string) (site.Settings, error) {
	asked := file != ""
	if !asked {
		file = filepath.Join(configHome(d), "nearmetal", "site.yaml")
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return site.Settings{}, nil
	}
	if err != nil {
		return site.Settings{}, fail.Usagef("ls -l "+shellescape.Quote(file)+"; without --site it is ~/.config/nearmetal/site.yaml, when that is there", "site settings: %w", err)
	}
	defer f.Close()
	return site.ParseSettings(f, file)
}

func configHome(d Deps) string { return xdg(d, "XDG_CONFIG_HOME", ".config") }
func stateHome(d Deps) string  { return xdg(d, "XDG_STATE_HOME", ".local/state") }

// xdg is a base directory (XDG Base Directory Specification).
func xdg(d Deps, name, otherwise string) string {
	if dir := d.Getenv(name); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(d.Getenv("HOME"), otherwise)
}

// applySite fills what the flags left open.
func applySite(p *slurm.Plan, s site.Settings) error {
	p.Partition = first(p.Partition, s.Partition)
	p.Account = first(p.Account, s.Account)
	p.QOS = first(p.QOS, s.QOS)
	p.MPI = first(p.MPI, s.MPI)
	p.SrunOptions = append(p.SrunOptions, s.Srun...)
	binds, err := parseBinds(s.Binds)
	if err != nil {
		return err
	}
	for i := range binds {
		binds[i].Why = "binds of site.yaml"
	}
	p.Binds = append(binds, p.Binds...)
	if p.Target.Kind == slurm.Native {
		p.Target.Modules = append(s.Modules, p.Target.Modules...)
	}
	return nil
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// parseBinds reads SRC[:DEST[:ro]] as apptainer's --bind does; a path with a
// colon or a comma is written with a backslash before it.
func parseBinds(specs []string) ([]slurm.Bind, error) {
	var out []slurm.Bind
	for _, spec := range specs {
		parts := splitEscaped(spec, ':')
		b := slurm.Bind{Source: parts[0]}
		if len(parts) > 1 {
			b.Dest = parts[1]
		}
		if len(parts) > 3 || len(parts) == 3 && parts[2] != "ro" && parts[2] != "rw" {
			return nil, fail.Usagef(`SRC[:DEST[:ro]]; a colon inside a path is written \:`, "bind %q: too many parts", spec)
		}
		b.ReadOnly = len(parts) == 3 && parts[2] == "ro"
		abs, err := filepath.Abs(b.Source)
		if err != nil || b.Source == "" {
			return nil, fail.Usagef("SRC[:DEST[:ro]]", "bind %q: no source path", spec)
		}
		if b.Dest == "" && abs != b.Source {
			b.Dest = abs
		}
		b.Source = abs
		out = append(out, b)
	}
	return out, nil
}

// splitEscaped splits at sep; a backslash keeps the byte after it.
func splitEscaped(s string, sep byte) []string {
	var out []string
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == sep || s[i+1] == '\\'):
			i++
			b.WriteByte(s[i])
		case s[i] == sep:
			out = append(out, b.String())
			b.Reset()
		default:
			b.WriteByte(s[i])
		}
	}
	return append(out, b.String())
}

// parseEnv reads NAME=VALUE; NAME alone takes the value of our own environment.
func parseEnv(d Deps, specs []string) ([]slurm.EnvVar, error) {
	var out []slurm.EnvVar
	for _, s := range specs {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			value = d.Getenv(name)
		}
		if name == "" {
			return nil, fail.Usagef("--env NAME=VALUE", "--env %q: no name", s)
		}
		out = append(out, slurm.EnvVar{Name: name, Value: value})
	}
	return out, nil
}
