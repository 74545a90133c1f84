package slurm

import "strings"

// unpacked starts a program of an unpacked image with the image's own loader
// and libraries, and no container (ld.so(8), --library-path).
func (t Target) unpacked() []string {
	return []string{t.Loader, "--library-path", strings.Join(t.Library, ":")}
}

// unpackedEnv moves Open MPI, PMIx and PRRTE, which have their installation
// directory compiled in.
func (t Target) unpackedEnv() []EnvVar {
	var out []EnvVar
	for _, name := range []string{"OPAL_PREFIX", "PMIX_PREFIX", "PRTE_PREFIX"} {
		out = append(out, EnvVar{Name: name, Value: t.Prefix})
	}
	return out
}
