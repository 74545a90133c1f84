/*
 * The benchmarks. Iterations are the defaults of OSU micro-benchmarks 5 to 7
 * (osu_util.h: LAT_LOOP_SMALL, BW_LOOP_SMALL, COLL_LOOP_SMALL and so on),
 * here an upper limit where the time budget does not end a size earlier.
 */
#include <string.h>

#include "probe.h"

#define MIB ((size_t)1 << 20)

#define LATENCY_LOOPS 10000, 1000, 100, 10, 1
#define WINDOW_LOOPS 100, 20, 10, 2
#define COLLECTIVE_LOOPS 1000, 100, 100, 10, 1

const struct benchmark catalogue[] = {
    {"init", "MPI Init", SHAPE_INIT, 1, 0, 0, 0, 0, 0, 0, 0,
     NULL, NULL, NULL, NULL, NULL},
    {"latency", "MPI Latency", SHAPE_LATENCY, 2, 1, 4 * MIB, LATENCY_LOOPS,
     need_message, place_pair, fill_window, step_latency, check_both},
    {"bw", "MPI Bandwidth", SHAPE_BANDWIDTH, 2, 1, 4 * MIB, WINDOW_LOOPS, 1,
     need_message, place_pair, fill_window, step_bw, check_receiver},
    {"bibw", "MPI Bi-Directional Bandwidth", SHAPE_BANDWIDTH, 2, 1, 4 * MIB,
     WINDOW_LOOPS, 2,
     need_message, place_pair, fill_window, step_bibw, check_both},
    {"mbw_mr", "MPI Multiple Bandwidth / Message Rate", SHAPE_RATE, 2, 1,
     4 * MIB, WINDOW_LOOPS, 1,
     need_message, place_half, fill_window, step_bw, check_receiver},
    {"allreduce", "MPI Allreduce Latency", SHAPE_COLLECTIVE, 2, 4, MIB,
     COLLECTIVE_LOOPS,
     need_message, place_all, fill_allreduce, step_allreduce, check_allreduce},
    {"allgather", "MPI Allgather Latency", SHAPE_COLLECTIVE, 2, 1, MIB,
     COLLECTIVE_LOOPS,
     need_block_a_rank, place_all, fill_own, step_allgather, check_allgather},
    {"alltoall", "MPI All-to-All Personalized Exchange Latency",
     SHAPE_COLLECTIVE, 2, 1, MIB, COLLECTIVE_LOOPS,
     need_block_a_rank, place_all, fill_alltoall, step_alltoall,
     check_alltoall},
    {"bcast", "MPI Broadcast Latency", SHAPE_COLLECTIVE, 2, 1, MIB,
     COLLECTIVE_LOOPS,
     need_message, place_all, fill_own, step_bcast, check_bcast},
    {"barrier", "MPI Barrier Latency", SHAPE_BARRIER, 2, 0, 0,
     COLLECTIVE_LOOPS,
     need_message, place_all, fill_nothing, step_barrier, check_nothing},
};

const int catalogue_len = sizeof catalogue / sizeof *catalogue;

int catalogue_find(const char *name, size_t len)
{
    for (int i = 0; i < catalogue_len; i++)
        if (strlen(catalogue[i].name) == len &&
            memcmp(catalogue[i].name, name, len) == 0)
            return i;
    return -1;
}
