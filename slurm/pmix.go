package slurm

import (
	"path"
	"slices"
	"strings"
)

// own is the environment that a target needs beside what the user asks for.
func (p Plan) own() []EnvVar {
	switch p.Target.Kind {
	case Unpacked:
		return p.Target.unpackedEnv()
	case Container:
		if p.hidesTmp() && !slices.ContainsFunc(p.Env, func(e EnvVar) bool { return e.Name == "PMIX_MCA_gds" }) {
			return []EnvVar{{Name: "PMIX_MCA_gds", Value: "hash", Why: "the container does not see the node's /tmp, where Slurm's PMIx server keeps its shared store: MPI_Init would abort (seen with PMIx 5.0.7)"}}
		}
	}
	return nil
}

// hidesTmp says whether the container's /tmp is another than the node's, where
// Slurm's plugin puts the clients' store (spmix_appdir_UID_JOB.STEP in TmpFS).
func (p Plan) hidesTmp() bool {
	for _, b := range p.Binds {
		if path.Clean(orDefault(b.Dest, b.Source)) == "/tmp" && path.Clean(b.Source) == "/tmp" {
			return false
		}
	}
	opts := p.Target.Options
	for i, o := range opts {
		name, value, ok := strings.Cut(o, "=")
		if !ok && i+1 < len(opts) {
			value = opts[i+1]
		}
		switch name {
		case "--contain", "-c", "--containall", "-C":
			return true
		case "--no-mount":
			if slices.Contains(strings.Split(value, ","), "tmp") {
				return true
			}
		}
	}
	return false
}
