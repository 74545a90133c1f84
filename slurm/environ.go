package slurm

import "strings"

// containerOwn are variables that Apptainer does not take over from the host:
// it sets them from the image. An APPTAINERENV_ twin overrides that
// (apptainer documentation, "Environment and Metadata").
var containerOwn = map[string]bool{"PATH": true, "LD_LIBRARY_PATH": true, "PS1": true}

// Environ gives what is added to srun's own environment, NAME=value. Slurm
// carries it to every rank as it is. path is the PATH that srun starts with.
//
// In a container each variable goes twice: under its own name, and as
// APPTAINERENV_NAME, which wins over the image's %environment. What Apptainer
// sets from the image goes by the twin alone, so that neither srun nor
// Apptainer itself runs with the program's PATH or libraries.
func (p Plan) Environ(path string) []string {
	var out []string
	for _, e := range p.environ() {
		v := e.Value
		if e.prefix {
			v = strings.TrimSuffix(v+":"+path, ":")
		}
		out = append(out, e.Name+"="+v)
	}
	return out
}

// variable is one of Environ's; with prefix the value goes before what is there.
type variable struct {
	EnvVar
	prefix bool
}

func (p Plan) environ() []variable {
	var out []variable
	if p.Target.Kind != Container && len(p.Target.Path) > 0 {
		out = append(out, variable{EnvVar{Name: "PATH", Value: strings.Join(p.Target.Path, ":")}, true})
	}
	for _, e := range append(p.own(), p.Env...) {
		inside := p.Target.Kind == Container && !strings.HasPrefix(e.Name, "APPTAINER")
		if !inside || !containerOwn[e.Name] {
			out = append(out, variable{e, false})
		}
		// Apptainer's interpreter loses carriage returns (seen with 1.4.5); the
		// plain name keeps them, unless the image sets the same variable.
		if inside && (!strings.Contains(e.Value, "\r") || containerOwn[e.Name]) {
			out = append(out, variable{EnvVar{Name: "APPTAINERENV_" + e.Name, Value: e.Value}, false})
		}
	}
	return out
}
