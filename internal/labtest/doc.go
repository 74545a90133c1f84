// Package labtest has no code: its tests, built with the tag lab, drive the
// finished binaries on a real one-machine cluster.
//
//	NEARMETAL_LAB_DIR    directory of a lab that is up (required)
//	NEARMETAL_LAB_IMAGE  image with the MPI probe, as the lab's nodes see it (required)
//	NEARMETAL_BIN        directory of nearmetal-lab (default ../../bin)
package labtest
