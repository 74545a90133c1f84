/* Collectives over MPI_COMM_WORLD, with the types and roots of OSU's. */
#include <string.h>

#include "probe.h"

enum { BYTES_PER_FLOAT = 4, PERIOD = 251, ROOT = 0 };

void place_all(struct run *r)
{
    r->peer = -1;
    r->sender = 0;
    r->counts = 1;
}

size_t need_block_a_rank(const struct run *r, size_t size)
{
    return size * (size_t)r->size;
}

/* Small whole numbers: their sums are exact in a float for any order of
 * summing, up to 2^24 / 250 = 67,000 ranks. The period is prime, so that a
 * shift by a block shows. */
static int term(uint64_t seed, int rank, size_t i)
{
    return (int)((seed % PERIOD + (uint64_t)rank * 7 + i) % PERIOD);
}

void fill_allreduce(struct run *r, size_t size, uint64_t seed)
{
    int v = term(seed, r->rank, 0);
    for (size_t i = 0; i < size / BYTES_PER_FLOAT; i++) {
        float f = (float)v;
        memcpy(r->send + i * BYTES_PER_FLOAT, &f, sizeof f);
        v = v + 1 == PERIOD ? 0 : v + 1;
    }
    memset(r->recv, 0xa5, size);
}

long check_allreduce(struct run *r, size_t size, uint64_t seed)
{
    float want[PERIOD];
    long wrong = 0;
    for (size_t i = 0; i < PERIOD; i++) {
        long sum = 0;
        for (int rank = 0; rank < r->size; rank++)
            sum += term(seed, rank, i);
        want[i] = (float)sum;
    }
    for (size_t i = 0; i < size / BYTES_PER_FLOAT; i++)
        if (memcmp(r->recv + i * BYTES_PER_FLOAT, &want[i % PERIOD],
                   BYTES_PER_FLOAT))
            wrong += BYTES_PER_FLOAT;
    return wrong;
}

void step_allreduce(struct run *r, size_t size)
{
    MPI_Allreduce(r->send, r->recv, (int)(size / BYTES_PER_FLOAT), MPI_FLOAT,
                  MPI_SUM, MPI_COMM_WORLD);
}

/* One block for everybody (allgather, bcast). */
void fill_own(struct run *r, size_t size, uint64_t seed)
{
    pattern_fill(r->send, size, pattern_seed(seed, r->rank, 0, 0));
    memset(r->recv, 0xa5, r->bytes < size * (size_t)r->size
                              ? size : size * (size_t)r->size);
}

void step_allgather(struct run *r, size_t size)
{
    MPI_Allgather(r->send, (int)size, MPI_CHAR, r->recv, (int)size, MPI_CHAR,
                  MPI_COMM_WORLD);
}

long check_allgather(struct run *r, size_t size, uint64_t seed)
{
    long wrong = 0;
    for (int from = 0; from < r->size; from++)
        wrong += pattern_wrong(r->recv + (size_t)from * size, size,
                               pattern_seed(seed, from, 0, 0));
    return wrong;
}

void fill_alltoall(struct run *r, size_t size, uint64_t seed)
{
    for (int to = 0; to < r->size; to++)
        pattern_fill(r->send + (size_t)to * size, size,
                     pattern_seed(seed, r->rank, to, 0));
    memset(r->recv, 0xa5, size * (size_t)r->size);
}

void step_alltoall(struct run *r, size_t size)
{
    MPI_Alltoall(r->send, (int)size, MPI_CHAR, r->recv, (int)size, MPI_CHAR,
                 MPI_COMM_WORLD);
}

long check_alltoall(struct run *r, size_t size, uint64_t seed)
{
    long wrong = 0;
    for (int from = 0; from < r->size; from++)
        wrong += pattern_wrong(r->recv + (size_t)from * size, size,
                               pattern_seed(seed, from, r->rank, 0));
    return wrong;
}

void step_bcast(struct run *r, size_t size)
{
    MPI_Bcast(r->rank == ROOT ? r->send : r->recv, (int)size, MPI_CHAR, ROOT,
              MPI_COMM_WORLD);
}

long check_bcast(struct run *r, size_t size, uint64_t seed)
{
    return r->rank == ROOT ? 0
         : pattern_wrong(r->recv, size, pattern_seed(seed, ROOT, 0, 0));
}

void step_barrier(struct run *r, size_t size)
{
    (void)r, (void)size;
    MPI_Barrier(MPI_COMM_WORLD);
}
