package store

import (
	"github.com/nearmetal/nearmetal/bench"
	"github.com/nearmetal/nearmetal/slurm"
)

// Plausible checks that every arm can be launched in every case, before
// anything is written.
func (m Manifest) Plausible(plan func(Arm, bench.Case) slurm.Plan) error {
	for _, a := range m.Arms {
		for _, c := range m.Cases {
			if err := plan(a, c).Validate(); err != nil {
				return err
			}
		}
	}
	return nil
}
