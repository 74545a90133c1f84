package compare

import (
	"maps"
	"slices"
	"strings"
)

// Prefixes of environment keys; see Options.BaseEnv.
const (
	imagePrefix = "image."
	stackPrefix = "stack."
)

// environment lists what differs between two arms, by key. A key that one arm
// lacks differs too: not observed is not the same.
func environment(base, other map[string]string) []EnvDiff {
	keys := map[string]bool{}
	for k := range base {
		keys[k] = true
	}
	for k := range other {
		keys[k] = true
	}
	out := []EnvDiff{}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		b, inBase := base[k]
		o, inOther := other[k]
		if inBase && inOther && b == o {
			continue
		}
		out = append(out, EnvDiff{Key: k, Base: observed(b, inBase), Other: observed(o, inOther), Kind: kindOf(k)})
	}
	return out
}

func observed(v string, ok bool) *string {
	if !ok {
		return nil
	}
	return &v
}

func kindOf(key string) string {
	switch {
	case strings.HasPrefix(key, imagePrefix):
		return "image"
	case strings.HasPrefix(key, stackPrefix):
		return "stack"
	}
	return "other"
}

// attribute says what a difference may be put down to.
func attribute(o Options, diffs []EnvDiff) Attribution {
	if len(o.BaseEnv) == 0 || len(o.OtherEnv) == 0 {
		return ToUnknown
	}
	kinds := map[string]bool{}
	for _, d := range diffs {
		kinds[d.Kind] = true
		if d.Kind == "stack" && (d.Base == nil || d.Other == nil) {
			return ToUnknown
		}
	}
	switch {
	case kinds["stack"]:
		return ToStack
	case kinds["other"]:
		return ToEnvironment
	case kinds["image"]:
		return ToContainer
	}
	return ToNothing
}

// text is "openmpi 4.1.4 against 5.0.7", base first.
func (d EnvDiff) text() string {
	name := strings.TrimPrefix(strings.TrimPrefix(d.Key, stackPrefix), imagePrefix)
	return name + " " + orUnknown(d.Base) + " against " + orUnknown(d.Other)
}

func orUnknown(v *string) string {
	switch {
	case v == nil:
		return "(not observed)"
	case *v == "":
		return "(empty)"
	}
	return *v
}
