// Package lab is a real Slurm cluster on one machine: real slurmctld, slurmd,
// munged, PMIx, Open MPI and Apptainer, on nodes that are sets of namespaces.
package lab
