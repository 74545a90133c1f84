package defs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxRecipe bounds what Decode reads, in bytes.
const maxRecipe = 64 << 20

// Decode reads one recipe in strict YAML. The error is a Faults with
// everything that is wrong with it: unknown and repeated keys, wrong kinds,
// and what Validate finds. Defaults are filled in.
func Decode(r io.Reader) (Recipe, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxRecipe+1))
	if err != nil {
		return Recipe{}, err
	}
	if len(b) > maxRecipe {
		return Recipe{}, Faults{{Line: 1, Msg: fmt.Sprintf("larger than %d MiB: this is no recipe", maxRecipe>>20)}}
	}
	if f := badBytes(b); f != nil {
		return Recipe{}, f
	}
	root, err := parseYAML(b)
	if err != nil {
		return Recipe{}, err
	}
	d := decoder{r: Recipe{Provider: "distro", Probe: true, lines: map[string]int{}}}
	d.recipe(root)
	faults := append(d.faults, Validate(d.r)...)
	return d.r, faults.asError()
}

// badBytes finds what YAML cannot hold, which its reader reports without a line.
func badBytes(b []byte) error {
	var fs Faults
	for i, line := range bytes.Split(b, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if !utf8.Valid(line) {
			fs = append(fs, Fault{Line: i + 1, Msg: "not UTF-8"})
		} else if j := bytes.IndexFunc(line, isControl); j >= 0 {
			r, _ := utf8.DecodeRune(line[j:])
			fs = append(fs, Fault{Line: i + 1, Msg: fmt.Sprintf("control character %U in the file", r)})
		}
	}
	return fs.asError()
}

func isControl(r rune) bool {
	return r < 0x20 && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

func parseYAML(b []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc, next yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil, Faults{{Line: 1, Msg: "empty: a recipe begins with name: and base:"}}
	case err != nil:
		return nil, yamlFault(err)
	case dec.Decode(&next) == nil:
		return nil, Faults{{Line: next.Line, Msg: "a second document: a file holds one recipe"}}
	case len(doc.Content) != 1:
		return nil, Faults{{Line: 1, Msg: "empty: a recipe begins with name: and base:"}}
	}
	return doc.Content[0], nil
}

func yamlFault(err error) Faults {
	line, msg := 1, err.Error()
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = m[2]
	}
	return Faults{{Line: max(line, 1), Msg: "YAML: " + clip(msg)}}
}

// decoder walks the nodes, so that every fault has its line.
type decoder struct {
	r      Recipe
	faults Faults
}

func (d *decoder) fault(n *yaml.Node, field, format string, args ...any) {
	d.faults = append(d.faults, Fault{n.Line, field, fmt.Sprintf(format, args...)})
}

// key is one entry that a mapping may have.
type key struct {
	name string
	read func(n *yaml.Node, field string)
}

// mapping reads a mapping of known keys; field is its own path.
func (d *decoder) mapping(n *yaml.Node, field string, keys ...key) {
	d.entries(n, field, func(k, v *yaml.Node, name string) {
		for _, known := range keys {
			if known.name == name {
				known.read(v, join(field, name))
				return
			}
		}
		names := make([]string, len(keys))
		for i, known := range keys {
			names[i] = known.name
		}
		d.fault(k, join(field, name), "unknown key; known: %s", strings.Join(names, ", "))
	})
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// entries calls each for the entries of a mapping whose keys are plain and new.
func (d *decoder) entries(n *yaml.Node, field string, each func(k, v *yaml.Node, name string)) {
	d.r.lines[field] = n.Line
	if n.Kind != yaml.MappingNode {
		if !isNull(n) {
			d.fault(n, field, "a mapping is needed here, not %s", kind(n))
		}
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			d.fault(k, field, "a key must be a plain word, not %s", kind(k))
			continue
		}
		if line, twice := seen[k.Value]; twice {
			d.fault(k, join(field, k.Value), "repeated; first on line %d", line)
			continue
		}
		seen[k.Value] = k.Line
		d.r.lines[join(field, k.Value)] = v.Line
		each(k, v, k.Value)
	}
}

// list calls each for the items of a sequence; a null is an empty one.
func (d *decoder) list(n *yaml.Node, field string, each func(n *yaml.Node, field string)) {
	d.r.lines[field] = n.Line
	if n.Kind != yaml.SequenceNode {
		if !isNull(n) {
			d.fault(n, field, "a list is needed here, not %s", kind(n))
		}
		return
	}
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", field, i)
		d.r.lines[at] = item.Line
		each(item, at)
	}
}

// text reads a scalar as it is written: 5.0 stays "5.0".
func (d *decoder) text(n *yaml.Node, field string) string {
	d.r.lines[field] = n.Line
	switch {
	case n.Kind != yaml.ScalarNode:
		d.fault(n, field, "one value is needed here, not %s", kind(n))
	case n.ShortTag() == "!!binary" || !strings.HasPrefix(n.ShortTag(), "!!"):
		d.fault(n, field, "tag %s is not known here", clip(n.Tag))
	case isNull(n):
		d.fault(n, field, "empty: write a value, or '' for none")
	default:
		return n.Value
	}
	return ""
}

// into gives a reader that stores a scalar.
func (d *decoder) into(p *string) func(*yaml.Node, string) {
	return func(n *yaml.Node, field string) { *p = d.text(n, field) }
}

// texts gives a reader that stores a list of scalars.
func (d *decoder) texts(p *[]string) func(*yaml.Node, string) {
	return func(n *yaml.Node, field string) {
		d.list(n, field, func(n *yaml.Node, at string) { *p = append(*p, d.text(n, at)) })
	}
}

// table gives a reader that stores a mapping of free names to scalars.
func (d *decoder) table(p *map[string]string) func(*yaml.Node, string) {
	return func(n *yaml.Node, field string) {
		d.entries(n, field, func(_, v *yaml.Node, name string) {
			if *p == nil {
				*p = map[string]string{}
			}
			(*p)[name] = d.text(v, join(field, name))
		})
	}
}

func (d *decoder) flag(p *bool) func(*yaml.Node, string) {
	return func(n *yaml.Node, field string) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			d.fault(n, field, "true or false is needed here")
			return
		}
		*p = strings.EqualFold(n.Value, "true")
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias (*" + clip(n.Value) + "): recipes have no anchors"
	}
	return "a single value"
}
