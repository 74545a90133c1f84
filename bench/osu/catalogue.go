package osu

import (
	"regexp"
	"strings"
)

// Kind is the family of a program.
type Kind string

// The families, as OMB's folders have them.
const (
	PointToPoint Kind = "point-to-point"
	Collective   Kind = "collective"
	NonBlocking  Kind = "non-blocking collective"
	Neighborhood Kind = "neighborhood collective"
	Persistent   Kind = "persistent collective"
	OneSided     Kind = "one-sided"
	Startup      Kind = "startup"
)

// Program is a row of the catalogue.
type Program struct {
	Name   string // executable
	Title  string // printed after "# OSU ", without " Test" and the device
	Kind   Kind
	Metric string // headline: latency and overall in us, bandwidth in MB/s, time in ms
	Ranks  int    // fewest ranks
	Exact  bool   // runs with exactly Ranks ranks
	Since  string // version of OMB, by its CHANGES; "3" also stands for older
}

// Catalogue lists the MPI programs of OMB. Where two programs print the same
// title (bw_fan_in and bw_fan_out print that of bw, neighbor_alltoallw that of
// alltoallw, ialltoallw of 5.3 that of ialltoallv) the first is taken for the
// title's.
var Catalogue = []Program{
	{"osu_latency", "MPI Latency", PointToPoint, "latency", 2, true, "3"},
	{"osu_bw", "MPI Bandwidth", PointToPoint, "bandwidth", 2, true, "3"},
	{"osu_bibw", "MPI Bi-Directional Bandwidth", PointToPoint, "bandwidth", 2, true, "3"},
	{"osu_latency_mt", "MPI Multi-threaded Latency", PointToPoint, "latency", 2, true, "3"},
	{"osu_latency_mp", "MPI Multi-process Latency", PointToPoint, "latency", 2, true, "5.6"},
	{"osu_multi_lat", "MPI Multi Latency", PointToPoint, "latency", 2, false, "3"},
	{"osu_mbw_mr", "MPI Multiple Bandwidth / Message Rate", PointToPoint, "bandwidth", 2, false, "3"},
	{"osu_latency_persistent", "MPI Latency Persistent", PointToPoint, "latency", 2, true, "7.1"},
	{"osu_bw_persistent", "MPI Bandwidth Persistent", PointToPoint, "bandwidth", 2, true, "7.1"},
	{"osu_bibw_persistent", "MPI Bi-Directional Bandwidth Persistent", PointToPoint, "bandwidth", 2, true, "7.1"},
	{"osu_bw_fan_in", "MPI Bandwidth", PointToPoint, "bandwidth", 2, false, "7.4"},
	{"osu_bw_fan_out", "MPI Bandwidth", PointToPoint, "bandwidth", 2, false, "7.4"},
	{"osu_allgather", "MPI Allgather Latency", Collective, "latency", 2, false, "3"},
	{"osu_allgatherv", "MPI Allgatherv Latency", Collective, "latency", 2, false, "4"},
	{"osu_allreduce", "MPI Allreduce Latency", Collective, "latency", 2, false, "3"},
	{"osu_alltoall", "MPI All-to-All Personalized Exchange Latency", Collective, "latency", 2, false, "3"},
	{"osu_alltoallv", "MPI All-to-Allv Personalized Exchange Latency", Collective, "latency", 2, false, "4"},
	{"osu_alltoallw", "MPI All-to-Allw Personalized Exchange Latency", Collective, "latency", 2, false, "6.2"},
	{"osu_barrier", "MPI Barrier Latency", Collective, "latency", 2, false, "3"},
	{"osu_bcast", "MPI Broadcast Latency", Collective, "latency", 2, false, "3"},
	{"osu_gather", "MPI Gather Latency", Collective, "latency", 2, false, "4"},
	{"osu_gatherv", "MPI Gatherv Latency", Collective, "latency", 2, false, "4"},
	{"osu_reduce", "MPI Reduce Latency", Collective, "latency", 2, false, "3"},
	{"osu_reduce_scatter", "MPI Reduce_scatter Latency", Collective, "latency", 2, false, "4"},
	{"osu_reduce_scatter_block", "MPI Reduce_scatter_block Latency", Collective, "latency", 2, false, "7.4"},
	{"osu_scatter", "MPI Scatter Latency", Collective, "latency", 2, false, "4"},
	{"osu_scatterv", "MPI Scatterv Latency", Collective, "latency", 2, false, "4"},
	{"osu_iallgather", "MPI Non-blocking Allgather Latency", NonBlocking, "overall", 2, false, "5"},
	{"osu_iallgatherv", "MPI Non-blocking Allgatherv Latency", NonBlocking, "overall", 2, false, "5"},
	{"osu_iallreduce", "MPI Non-blocking Allreduce Latency", NonBlocking, "overall", 2, false, "5.4"},
	{"osu_ialltoall", "MPI Non-blocking All-to-All Latency", NonBlocking, "overall", 2, false, "4.4"},
	{"osu_ialltoallv", "MPI Non-blocking All-to-Allv Personalized Exchange Latency", NonBlocking, "overall", 2, false, "5"},
	{"osu_ialltoallw", "MPI Non-blocking All-to-Allw Personalized Exchange Latency", NonBlocking, "overall", 2, false, "5.3"},
	{"osu_ibarrier", "MPI Non-blocking Barrier Latency", NonBlocking, "overall", 2, false, "5"},
	{"osu_ibcast", "MPI Non-Blocking Broadcast Latency", NonBlocking, "overall", 2, false, "5"},
	{"osu_igather", "MPI Non-blocking Gather Latency", NonBlocking, "overall", 2, false, "5"},
	{"osu_igatherv", "MPI Non-blocking Gatherv Latency", NonBlocking, "overall", 2, false, "5"},
	{"osu_ireduce", "MPI Non-blocking Reduce Latency", NonBlocking, "overall", 2, false, "5.4"},
	{"osu_ireduce_scatter", "MPI Non-blocking Reduce_scatter Latency", NonBlocking, "overall", 2, false, "7.0"},
	{"osu_ireduce_scatter_block", "MPI Non-blocking Reduce_scatter_block Latency", NonBlocking, "overall", 2, false, "7.4"},
	{"osu_iscatter", "MPI Non-blocking Scatter Latency", NonBlocking, "overall", 2, false, "5"},
	{"osu_iscatterv", "MPI Non-blocking Scatterv Latency", NonBlocking, "overall", 2, false, "5"},
	{"osu_neighbor_allgather", "MPI Neighborhood Allgather Latency", Neighborhood, "latency", 2, false, "7.1"},
	{"osu_ineighbor_allgather", "MPI Non-blocking Neighborhood Allgather Latency", Neighborhood, "overall", 2, false, "7.1"},
	{"osu_neighbor_allgatherv", "MPI Neighborhood Allgatherv Latency", Neighborhood, "latency", 2, false, "7.1"},
	{"osu_ineighbor_allgatherv", "MPI Non-blocking Neighborhood Allgatherv Latency", Neighborhood, "overall", 2, false, "7.1"},
	{"osu_neighbor_alltoall", "MPI Neighborhood Alltoall Latency", Neighborhood, "latency", 2, false, "7.1"},
	{"osu_ineighbor_alltoall", "MPI Non-blocking Neighborhood Alltoall Latency", Neighborhood, "overall", 2, false, "7.1"},
	{"osu_neighbor_alltoallv", "MPI Neighborhood All-to-Allv Latency", Neighborhood, "latency", 2, false, "7.1"},
	{"osu_ineighbor_alltoallv", "MPI Non-blocking Neighborhood Alltoallv Latency", Neighborhood, "overall", 2, false, "7.1"},
	{"osu_neighbor_alltoallw", "MPI All-to-Allw Personalized Exchange Latency", Neighborhood, "latency", 2, false, "7.1"},
	{"osu_ineighbor_alltoallw", "MPI Non-blocking Neighborhood Alltoallw Latency", Neighborhood, "overall", 2, false, "7.1"},
	{"osu_allgather_persistent", "MPI Allgather Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_allgatherv_persistent", "MPI Allgatherv Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_allreduce_persistent", "MPI Allreduce Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_alltoall_persistent", "MPI All-to-All Personalized Exchange Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_alltoallv_persistent", "MPI All-to-Allv Personalized Exchange Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_alltoallw_persistent", "MPI All-to-Allw Personalized Exchange Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_barrier_persistent", "MPI Barrier Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_bcast_persistent", "MPI Broadcast Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_gather_persistent", "MPI Gather Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_gatherv_persistent", "MPI Gatherv Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_reduce_persistent", "MPI Reduce Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_reduce_scatter_persistent", "MPI Reduce_scatter Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_scatter_persistent", "MPI Scatter Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_scatterv_persistent", "MPI Scatterv Persistent Latency", Persistent, "latency", 2, false, "7.3"},
	{"osu_acc_latency", "MPI_Accumulate latency", OneSided, "latency", 2, true, "4"},
	{"osu_cas_latency", "MPI_Compare_and_swap latency", OneSided, "latency", 2, true, "4.4"},
	{"osu_fop_latency", "MPI_Fetch_and_op latency", OneSided, "latency", 2, true, "4.4"},
	{"osu_get_acc_latency", "MPI_Get_accumulate latency", OneSided, "latency", 2, true, "4.4"},
	{"osu_get_bw", "MPI_Get Bandwidth", OneSided, "bandwidth", 2, true, "4"},
	{"osu_get_latency", "MPI_Get latency", OneSided, "latency", 2, true, "4"},
	{"osu_put_bibw", "MPI_Put Bi-directional Bandwidth", OneSided, "bandwidth", 2, true, "4"},
	{"osu_put_bw", "MPI_Put Bandwidth", OneSided, "bandwidth", 2, true, "4"},
	{"osu_put_latency", "MPI_Put Latency", OneSided, "latency", 2, true, "4"},
	{"osu_get_multi_lat", "MPI_Get Multi Latency", OneSided, "latency", 2, false, "7.4"},
	{"osu_get_mbw", "MPI_Get Multiple Bandwidth Bandwidth", OneSided, "bandwidth", 2, false, "7.4"},
	{"osu_init", "MPI Init", Startup, "time", 1, false, "5"},
	{"osu_hello", "MPI Hello World", Startup, "ranks", 1, false, "5"},
}

// Find gives the catalogue's row of an executable.
func Find(name string) (Program, bool) {
	for _, p := range Catalogue {
		if p.Name == name {
			return p, true
		}
	}
	return Program{}, false
}

// device is what stands for "%s" in OMB's titles with --accelerator.
var device = regexp.MustCompile(`-(CUDA MANAGED|CUDA|MANAGED|OPENACC|ROCM|SYCL)\b`)

// identify gives the program of a title ("" when unknown) and the device.
// Versions differ in capitals only ("MPI_Put latency", "MPI_Put Latency").
func identify(title string) (program, dev string) {
	if m := device.FindStringSubmatch(title); m != nil {
		dev = m[1]
		title = device.ReplaceAllString(title, "")
	}
	for _, p := range Catalogue {
		if strings.EqualFold(p.Title, title) {
			return p.Name, dev
		}
	}
	return "", dev
}
