/*
 * Point-to-point: the message exchanges of osu_latency, osu_bw, osu_bibw and
 * osu_mbw_mr, so that numbers can be laid beside OSU's.
 */
#include <string.h>

#include "probe.h"

enum { TAG_DATA = 100, TAG_ACK = 101, ACK_BYTES = 4 };

/* latency, bw, bibw: one pair, the other ranks look on. */
void place_pair(struct run *r)
{
    r->sender = r->counts = r->rank == r->pair[0];
    r->peer = r->rank == r->pair[0] ? r->pair[1]
            : r->rank == r->pair[1] ? r->pair[0] : -1;
}

/* mbw_mr: rank i of the first half sends to rank i of the second. */
void place_half(struct run *r)
{
    int pairs = r->size / 2;
    r->sender = r->counts = r->rank < pairs;
    r->peer = r->rank < pairs ? r->rank + pairs
            : r->rank < 2 * pairs ? r->rank - pairs : -1;
}

size_t need_message(const struct run *r, size_t size)
{
    (void)r;
    return size;
}

void fill_window(struct run *r, size_t size, uint64_t seed)
{
    if (r->peer < 0)
        return;
    for (int i = 0; i < r->slots; i++)
        pattern_fill(r->send + (size_t)i * size, size,
                     pattern_seed(seed, r->rank, r->peer, i));
    memset(r->recv, 0xa5, size * (size_t)r->slots);
}

void fill_nothing(struct run *r, size_t size, uint64_t seed)
{
    (void)r, (void)size, (void)seed;
}

static void send_to(struct run *r, size_t n, int tag)
{
    MPI_Send(r->send, (int)n, MPI_CHAR, r->peer, tag, MPI_COMM_WORLD);
}

static void receive_from(struct run *r, size_t n, int tag)
{
    MPI_Recv(r->recv, (int)n, MPI_CHAR, r->peer, tag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

void step_latency(struct run *r, size_t size)
{
    if (r->peer < 0)
        return;
    if (r->sender) {
        send_to(r, size, TAG_DATA);
        receive_from(r, size, TAG_DATA);
    } else {
        receive_from(r, size, TAG_DATA);
        send_to(r, size, TAG_DATA);
    }
}

static void post_sends(struct run *r, size_t size, MPI_Request *reqs)
{
    for (int i = 0; i < r->window; i++)
        MPI_Isend(r->send + (size_t)(i % r->slots) * size, (int)size, MPI_CHAR,
                  r->peer, TAG_DATA, MPI_COMM_WORLD, &reqs[i]);
}

static void post_receives(struct run *r, size_t size, MPI_Request *reqs)
{
    for (int i = 0; i < r->window; i++)
        MPI_Irecv(r->recv + (size_t)(i % r->slots) * size, (int)size, MPI_CHAR,
                  r->peer, TAG_DATA, MPI_COMM_WORLD, &reqs[i]);
}

/* The receiver's answer ends the window at the sender's clock; it comes from
 * and goes to a buffer of its own, or it would spoil the data. */
void step_bw(struct run *r, size_t size)
{
    char ack[ACK_BYTES] = {0};
    if (r->peer < 0)
        return;
    if (r->sender) {
        post_sends(r, size, r->reqs);
        MPI_Waitall(r->window, r->reqs, r->stats);
        MPI_Recv(ack, ACK_BYTES, MPI_CHAR, r->peer, TAG_ACK, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    } else {
        post_receives(r, size, r->reqs);
        MPI_Waitall(r->window, r->reqs, r->stats);
        MPI_Send(ack, ACK_BYTES, MPI_CHAR, r->peer, TAG_ACK, MPI_COMM_WORLD);
    }
}

void step_bibw(struct run *r, size_t size)
{
    if (r->peer < 0)
        return;
    post_receives(r, size, r->reqs);
    post_sends(r, size, r->reqs + r->window);
    MPI_Waitall(2 * r->window, r->reqs, r->stats);
}

long check_both(struct run *r, size_t size, uint64_t seed)
{
    long wrong = 0;
    if (r->peer < 0)
        return 0;
    for (int i = 0; i < r->slots; i++)
        wrong += pattern_wrong(r->recv + (size_t)i * size, size,
                               pattern_seed(seed, r->peer, r->rank, i));
    return wrong;
}

long check_receiver(struct run *r, size_t size, uint64_t seed)
{
    return r->sender ? 0 : check_both(r, size, seed);
}

long check_nothing(struct run *r, size_t size, uint64_t seed)
{
    (void)r, (void)size, (void)seed;
    return 0;
}
