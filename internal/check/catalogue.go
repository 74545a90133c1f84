package check

import "slices"

// All is the catalogue: every family's checks in the order of the layers.
func All() []Check {
	return slices.Concat(
		live(),
	)
}
