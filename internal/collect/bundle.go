package collect

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/nearmetal/nearmetal/internal/fail"
	"github.com/nearmetal/nearmetal/internal/site"
)

// Bundle is what is taken to somebody else: facts and logs.
//
//	bundle.json          schema, time, whether names were replaced
//	facts/NODE.json      one node's facts, natively and in the image
//	logs/NAME            as they were given
type Bundle struct {
	Schema   string            `json:"schema"`
	Created  time.Time         `json:"created"`
	Redacted bool              `json:"redacted"`
	Facts    []site.Facts      `json:"-"`
	Logs     map[string][]byte `json:"-"`
}

// BundleSchema is the bundle's name and version.
const BundleSchema = "nearmetal/bundle/v1"

// Limits on what is read from a bundle, whoever made it.
const (
	maxEntries = 20000
	maxEntry   = 256 << 20
	maxBundle  = 1 << 30
)

// Save writes the bundle whole or not at all.
func (b Bundle) Save(file string) error {
	var buf bytes.Buffer
	if err := b.Write(&buf); err != nil {
		return err
	}
	if err := renameio.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		return fail.New(fail.Failed, "choose a directory that you may write: --save FILE", "bundle: %w", err)
	}
	return nil
}

// Redact replaces names and addresses in facts and logs.
func (b *Bundle) Redact(users []string) error {
	var nodes []string
	for _, f := range b.Facts {
		nodes = append(nodes, f.Node)
		if f.Slurm.States != nil {
			for _, s := range f.Slurm.States.Value {
				nodes = append(nodes, s.Node)
			}
		}
	}
	r := NewRedactor(nodes, users)
	facts, err := r.Facts(b.Facts)
	if err != nil {
		return err
	}
	logs := map[string][]byte{}
	for _, name := range sortedKeys(b.Logs) {
		logs[r.Text(name)] = []byte(r.Text(string(b.Logs[name])))
	}
	b.Facts, b.Logs, b.Redacted = facts, logs, true
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Write writes the bundle as a gzip'd tar archive.
func (b Bundle) Write(w io.Writer) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	b.Schema = BundleSchema
	if err := b.putJSON(t, "bundle.json", b); err != nil {
		return err
	}
	byNode := map[string][]site.Facts{}
	for _, f := range b.Facts {
		byNode[f.Node] = append(byNode[f.Node], f)
	}
	for _, node := range sortedKeys(byNode) {
		if err := b.putJSON(t, "facts/"+plainName(node)+".json", byNode[node]); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(b.Logs) {
		if err := b.put(t, "logs/"+plainName(filepath.Base(name)), b.Logs[name]); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// plainName is a file name that is safe everywhere.
func plainName(s string) string {
	clean := strings.Map(func(r rune) rune {
		if wordByte(byte(r)) && r < 128 || r == '-' || r == '.' {
			return r
		}
		return '_'
	}, s)
	return strings.TrimLeft(clean, ".")
}

func (b Bundle) putJSON(t *tar.Writer, name string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return b.put(t, name, append(text, '\n'))
}

func (b Bundle) put(t *tar.Writer, name string, data []byte) error {
	h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)), ModTime: b.Created, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}

// Read reads a bundle that anybody may have made: nothing is unpacked to disk,
// and what a bundle never holds is refused by name.
func Read(r io.Reader) (Bundle, error) {
	b := Bundle{Logs: map[string][]byte{}}
	z, err := gzip.NewReader(r)
	if err != nil {
		return b, refuse("it is not gzip: %w", err)
	}
	budget := &io.LimitedReader{R: z, N: maxBundle}
	t := tar.NewReader(budget)
	for n := 0; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		switch {
		case budget.N <= 0:
			return b, refuse("it unpacks to more than %d bytes", maxBundle)
		case err != nil:
			return b, refuse("it is no tar archive or is cut off: %w", err)
		case n >= maxEntries:
			return b, refuse("it has more than %d files", maxEntries)
		}
		if err := b.entry(h, t); err != nil {
			return b, err
		}
	}
	if b.Schema == "" {
		return b, refuse("it has no bundle.json")
	}
	return b, nil
}

func refuse(format string, args ...any) error {
	return fail.Usagef("nearmetal doctor --save bundle.tar.gz makes one", "bundle refused: "+format, args...)
}

func (b *Bundle) entry(h *tar.Header, r io.Reader) error {
	dir, name := path.Split(h.Name)
	switch {
	case path.IsAbs(h.Name) || slices.Contains(strings.Split(h.Name, "/"), ".."):
		return refuse("%.100q leads out of it", h.Name)
	case h.Typeflag == tar.TypeDir:
		return nil
	case h.Typeflag != tar.TypeReg:
		return refuse("%.100q is a link or a device", h.Name)
	case h.Size > maxEntry:
		return refuse("%.100q has %d bytes", h.Name, h.Size)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxEntry))
	if err != nil {
		return refuse("%.100q: %w", h.Name, err)
	}
	switch dir {
	case "":
		return b.head(h.Name, data)
	case "facts/":
		return b.facts(h.Name, data)
	case "logs/":
		b.Logs[name] = data
		return nil
	}
	return refuse("%.100q is nothing that a bundle holds", h.Name)
}

func (b *Bundle) head(name string, data []byte) error {
	if name != "bundle.json" {
		return refuse("%.100q is nothing that a bundle holds", name)
	}
	if err := json.Unmarshal(data, b); err != nil {
		return refuse("%s: %w", name, err)
	}
	if b.Schema != BundleSchema {
		return refuse("%s is of schema %.60q, not %s", name, b.Schema, BundleSchema)
	}
	return nil
}

func (b *Bundle) facts(name string, data []byte) error {
	var fs []site.Facts
	if err := json.Unmarshal(data, &fs); err != nil {
		return refuse("%.100q: %w", name, err)
	}
	for _, f := range fs {
		if f.Node == "" {
			return refuse("%.100q: facts of no node", name)
		}
	}
	b.Facts = append(b.Facts, fs...)
	return nil
}

// Describe is one line about a bundle for people.
func (b Bundle) Describe() string {
	return fmt.Sprintf("%d nodes, %d logs, names replaced: %v", answered(b.Facts), len(b.Logs), b.Redacted)
}
