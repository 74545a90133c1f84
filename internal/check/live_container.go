package check

import (
	"fmt"
	"strings"

	"github.com/nearmetal/nearmetal/internal/site"
)

func liveContainer() []Check {
	return []Check{
		seen("userns-disabled", each(usernsOff)),
		seen("userns-restricted-apparmor", each(usernsApparmor)),
		seen("squashfuse-missing", each(squashfuseMissing)),
		seen("fuse-mount-denied", each(fuseDenied)),
		seen("mpi-mixed-libraries", each(doubleLibraries)),
		seen("mpi-library-not-found", each(missingLibraries)),
		{Code: "LIV020", Key: "image-wrong-architecture", Layer: "apptainer", Severity: Error,
			Title:  "the image is for another processor",
			Cause:  "The programs in the image were built for another architecture than the node has.",
			Breaks: "nothing in the image starts: 'exec format error'",
			Fix:    []Fix{author("build the image on a node of the same kind, or: apptainer build --arch amd64 img.sif docker://…   # arm64 for Grace and Graviton"), user("srun -w NODE uname -m; nearmetal inspect img.sif")},
			Source: "https://apptainer.org/docs/user/main/cli/apptainer_build.html",
			Rules: []Rule{on(95, `image targets '\w+', cannot run on '\w+'`), on(95, `image'?s architecture \(\S+\) could not run on the host'?s`),
				on(80, `exec format error`)},
			Live: each(wrongArch)},
		{Key: "sharens-race", LiveScore: 75, Live: sharensUsed,
			Rules: []Rule{on(93, `could not open proc directory /proc/\d+`)}},
		{Code: "LIV022", Key: "image-unreadable", Layer: "apptainer", Severity: Error,
			Title:  "the image cannot be read on the node",
			Cause:  "The image is not there on the node or its mode forbids the user to read it.",
			Breaks: "every launch of the image",
			Fix:    []Fix{user("ls -lL IMG; put it on a file system that all nodes mount, chmod a+r IMG")},
			Source: "https://apptainer.org/docs/user/main/bind_paths_and_mounts.html",
			Rules:  []Rule{on(84, `could not open image \S+: (?:.*permission denied|.*no such file)`)},
			Live: each(func(f site.Facts) []Evidence {
				if r := f.Container.ImageReads; is(r, false) {
					return fact(f, r.Source, "cannot be opened for reading")
				}
				return nil
			})},
	}
}

// usernsOff: with a setuid starter they are not needed.
func usernsOff(f site.Facts) []Evidence {
	u := f.Userns
	if is(f.Container.Setuid, true) || !is(u.Works, false) || is(u.AppArmor, 1) {
		return nil
	}
	out := fact(f, u.Works.Source, "fails")
	if is(u.Clone, 0) {
		out = append(out, fact(f, u.Clone.Source, "0")...)
	}
	if is(u.Max, 0) {
		out = append(out, fact(f, u.Max.Source, "0")...)
	}
	return out
}

func usernsApparmor(f site.Facts) []Evidence {
	u := f.Userns
	if is(f.Container.Setuid, true) || !is(u.Works, false) || !is(u.AppArmor, 1) {
		return nil
	}
	return fact(f, u.AppArmor.Source, "1, and %s fails", u.Works.Source)
}

func squashfuseMissing(f site.Facts) []Evidence {
	if o := f.Container; is(o.Squashfuse, false) && is(o.Setuid, false) {
		return fact(f, o.Squashfuse.Source, "and no setuid starter")
	}
	return nil
}

func fuseDenied(f site.Facts) []Evidence {
	o := f.Container
	if o.Version == nil || !is(o.FuseOpens, false) || is(o.Setuid, true) {
		return nil
	}
	mode := "absent"
	if o.FuseMode != nil {
		mode = o.FuseMode.Value
	}
	return fact(f, "/dev/fuse", "mode %s: the user may not open it", mode)
}

func doubleLibraries(f site.Facts) []Evidence {
	var out []Evidence
	if d := f.Inside.Double; d != nil {
		for _, s := range d.Value {
			if strings.Contains(s, "mpi") || strings.Contains(s, "pmix") || strings.Contains(s, "ucp") || strings.Contains(s, "fabric") {
				out = append(out, fact(f, d.Source, "%s", s)...)
			}
		}
	}
	return out
}

func missingLibraries(f site.Facts) []Evidence {
	var out []Evidence
	if d := f.Inside.Missing; d != nil {
		for _, s := range d.Value {
			out = append(out, fact(f, d.Source, "%s => not found", s)...)
		}
	}
	return out
}

// wrongArch believes the image's own label only where nobody looked inside.
func wrongArch(f site.Facts) []Evidence {
	host := f.System.Arch
	if host == nil {
		return nil
	}
	if f.Image == "" {
		if a := f.Container.ImageArch; a != nil && a.Value != host.Value {
			return fact(f, a.Source, "the image is for %s, the node is %s", a.Value, host.Value)
		}
		return nil
	}
	if k := f.Inside.HostArch; k != nil && k.Value != host.Value {
		return fact(f, host.Source, "%s is a program for %s, the node is %s", host.Source, host.Value, k.Value)
	}
	return nil
}

// sharensUsed is only a danger with several ranks on a node.
func sharensUsed(nodes []site.Facts) []Evidence {
	var out []Evidence
	for _, f := range native(nodes) {
		if v, ok := env(f, "APPTAINER_SHARENS"); ok && v != "" && v != "0" && v != "false" {
			out = append(out, fact(f, "environment", "APPTAINER_SHARENS=%s", v)...)
		}
		if f.Ranks == nil {
			continue
		}
		count := map[string]int{}
		for _, r := range f.Ranks.Value {
			if r.Sharens {
				count[r.Step]++
			}
			if r.Sharens && count[r.Step] == 2 {
				out = append(out, fact(f, fmt.Sprintf("/proc/%d/cmdline", r.PID), "step %s: several ranks with --sharens: %s", r.Step, r.Program)...)
			}
		}
	}
	return out
}
