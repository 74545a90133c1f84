package defs

import "gopkg.in/yaml.v3"

// recipe reads the top of the file. The order is that of docs/recipes.md.
func (d *decoder) recipe(n *yaml.Node) {
	r := &d.r
	if n.Kind != yaml.MappingNode {
		d.fault(n, "", "a recipe is a mapping that begins with name:, not %s", kind(n))
		return
	}
	d.mapping(n, "",
		key{"name", d.into(&r.Name)},
		key{"description", d.into(&r.Description)},
		key{"base", d.base},
		key{"provider", d.into(&r.Provider)},
		key{"spack", d.spack},
		key{"stack", d.stack},
		key{"packages", d.packages},
		key{"files", d.files},
		key{"build", d.steps(&r.Build)},
		key{"final", d.steps(&r.Final)},
		key{"copy", d.copies},
		key{"env", d.table(&r.Env)},
		key{"prepend", d.prepend},
		key{"labels", d.table(&r.Labels)},
		key{"runscript", d.runscript},
		key{"test", d.steps(&r.Test)},
		key{"probe", d.flag(&r.Probe)},
	)
	// Nothing was said where nothing was written; Validate points at line 1.
	d.r.lines[""] = n.Line
}

func (d *decoder) base(n *yaml.Node, field string) {
	b := &d.r.Base
	d.mapping(n, field,
		key{"from", d.into(&b.From)},
		key{"ref", d.into(&b.Ref)},
		key{"digest", d.into(&b.Digest)},
		key{"path", d.into(&b.Path)},
		key{"suite", d.into(&b.Suite)},
		key{"mirror", d.into(&b.Mirror)},
		key{"distro", d.into(&b.Distro)},
	)
}

func (d *decoder) stack(n *yaml.Node, field string) {
	found := map[string]Component{}
	d.entries(n, field, func(_, v *yaml.Node, name string) {
		switch name {
		case "mpi":
			d.r.Stack.MPI = component(d.text(v, join(field, name)))
			return
		case driver:
			d.r.Stack.Driver = d.text(v, join(field, name))
			return
		}
		found[name] = Component{Name: name, Version: version(d.text(v, join(field, name)))}
	})
	for _, name := range componentNames() {
		if c, ok := found[name]; ok {
			d.r.Stack.Components = append(d.r.Stack.Components, c)
			delete(found, name)
		}
	}
	for _, name := range sortedKeys(found) {
		d.r.Stack.Components = append(d.r.Stack.Components, found[name])
	}
}

func (d *decoder) spack(n *yaml.Node, field string) {
	s := &Spack{}
	d.mapping(n, field,
		key{"version", d.into(&s.Version)},
		key{"git", d.into(&s.Git)},
		key{"ref", d.into(&s.Ref)},
		key{"target", d.into(&s.Target)},
		key{"compiler", d.into(&s.Compiler)},
		key{"specs", d.texts(&s.Specs)},
		key{"variants", d.table(&s.Variants)},
		key{"repos", d.texts(&s.Repos)},
		key{"mirrors", d.table(&s.Mirrors)},
		key{"external", d.table(&s.External)},
	)
	d.r.Spack = s
}

func (d *decoder) packages(n *yaml.Node, field string) {
	d.mapping(n, field,
		key{"build", d.texts(&d.r.Packages.Build)},
		key{"runtime", d.texts(&d.r.Packages.Runtime)},
	)
}

func (d *decoder) files(n *yaml.Node, field string) {
	d.list(n, field, func(n *yaml.Node, at string) {
		f := File{Stage: StageFinal}
		d.mapping(n, at,
			key{"from", d.into(&f.From)},
			key{"to", d.into(&f.To)},
			key{"stage", d.into(&f.Stage)},
			key{"sha256", d.into(&f.SHA256)},
		)
		d.r.Files = append(d.r.Files, f)
	})
}

func (d *decoder) copies(n *yaml.Node, field string) {
	d.list(n, field, func(n *yaml.Node, at string) {
		c := Copy{}
		if n.Kind == yaml.ScalarNode {
			c.From = d.text(n, at)
		} else {
			d.mapping(n, at, key{"from", d.into(&c.From)}, key{"to", d.into(&c.To)})
		}
		if c.To == "" {
			c.To = c.From
		}
		d.r.Copy = append(d.r.Copy, c)
	})
}

func (d *decoder) prepend(n *yaml.Node, field string) {
	d.entries(n, field, func(_, v *yaml.Node, name string) {
		p := Prepend{Name: name}
		d.texts(&p.Dirs)(v, join(field, name))
		d.r.Prepend = append(d.r.Prepend, p)
	})
}

func (d *decoder) steps(p *[]Step) func(*yaml.Node, string) {
	return func(n *yaml.Node, field string) {
		d.list(n, field, func(n *yaml.Node, at string) { *p = append(*p, d.step(n, at)) })
	}
}

func (d *decoder) step(n *yaml.Node, field string) Step {
	var s Step
	d.mapping(n, field, key{"run", d.texts(&s.Argv)}, key{"script", d.into(&s.Script)})
	return s
}

// runscript is an argument vector or a script, without a key of its own.
func (d *decoder) runscript(n *yaml.Node, field string) {
	s := &Step{}
	switch n.Kind {
	case yaml.SequenceNode:
		d.texts(&s.Argv)(n, field)
	default:
		s.Script = d.text(n, field)
	}
	d.r.Runscript = s
}
