package attrib

import "strings"

// Setting is an environment variable for the launch that is not timed.
type Setting struct{ Name, Value string }

// Settings make the libraries tell what they chose. Sources: ompi_info(1)
// for the *_verbose parameters (20 is the level at which bml/r2 and smsc name
// their choice), UCX's ucs/config/global_opts.c, fabric(7), and NCCL's
// "Environment Variables".
var Settings = []Setting{
	{"OMPI_MCA_pml_base_verbose", "20"},
	{"OMPI_MCA_mtl_base_verbose", "20"},
	{"OMPI_MCA_bml_base_verbose", "20"},
	{"OMPI_MCA_btl_base_verbose", "20"},
	{"OMPI_MCA_smsc_base_verbose", "20"},
	{"OMPI_MCA_opal_common_ofi_verbose", "1"},
	{"UCX_LOG_LEVEL", "info"},
	{"UCX_PROTO_INFO", "y"},
	{"NCCL_DEBUG", "INFO"},
	{"NCCL_DEBUG_SUBSYS", "INIT,ENV,GRAPH,NET,P2P,SHM"},
}

// factMark begins the lines that Preamble writes.
const factMark = "nearmetal-fact:"

// Preamble is the program of a shell that says where a rank is and then
// becomes the rank's program ($@). It is constant; what it misses (no df in
// the image) is left out.
var Preamble = strings.Join([]string{
	`cpus=; while read -r k v; do case $k in Cpus_allowed_list:) cpus=$v;; esac; done < /proc/self/status`,
	`ns=$(readlink /proc/self/ns/user 2>/dev/null)`,
	`shm=$(df -Pk /dev/shm 2>/dev/null | while read -r d n rest; do case $n in *[!0-9]*) ;; *) echo "$n";; esac; done)`,
	`dev=$(stat -c %d:%i /dev/shm 2>/dev/null)`,
	`echo "` + factMark + ` node=$SLURMD_NODENAME rank=$SLURM_PROCID cpus=$cpus user=$ns shm_kib=$shm shm_dev=$dev" >&2`,
	// Open MPI's own word on --enable-debug, once.
	`if [ "$SLURM_PROCID" = 0 ] && command -v ompi_info >/dev/null 2>&1; then ompi_info --parsable 2>/dev/null | while read -r l; do case $l in option:debug:*) echo "$l" >&2;; esac; done; fi`,
	`exec "$@"`,
}, "\n")
