/* SPDX-License-Identifier: Apache-2.0 */
#include "copies.h"

#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/payload.h"
#include "assay/timing.h"

#define TAG_DONE 9

const char *const copy_operation_names[COPY_OPERATIONS + 1] = {"put", "get", NULL};
const char *const copy_synchronisation_names[COPY_SYNCHRONISATIONS + 1] = {"fence", "lock", NULL};

/* LAM declares MPI_Win_lock and does not have it. */
#ifdef LAM_MPI
int copies_can_lock(void) { return 0; }
static void lock(struct copies *c) { (void)c; }
static void unlock(struct copies *c) { (void)c; }
#else
int copies_can_lock(void) { return 1; }
static void lock(struct copies *c) { MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, c->window); }
static void unlock(struct copies *c) { MPI_Win_unlock(1, c->window); }
#endif

static void put(struct copies *c, void *from) {
    MPI_Put(from, c->bytes, MPI_BYTE, 1 - c->rank, 0, c->bytes, MPI_BYTE, c->window);
}

static void get(struct copies *c, void *to) {
    MPI_Get(to, c->bytes, MPI_BYTE, 1 - c->rank, 0, c->bytes, MPI_BYTE, c->window);
}

static void fence(struct copies *c) { MPI_Win_fence(0, c->window); }

static void put_locked(struct copies *c, void *from) {
    lock(c);
    put(c, from);
    unlock(c);
}

static void get_locked(struct copies *c, void *to) {
    lock(c);
    get(c, to);
    unlock(c);
}

void copies_open(struct copies *c, long long bytes) {
    c->exposed = buffer_make((size_t)bytes, 1);
    c->own = buffer_make((size_t)bytes, 1);
    c->returned = buffer_make((size_t)bytes, 1);
    MPI_Win_create(c->exposed, (MPI_Aint)bytes, 1, MPI_INFO_NULL, c->comm, &c->window);
    if (!c->locked)
        fence(c);
}

void copies_close(struct copies *c) {
    if (!c->locked)
        fence(c);
    MPI_Win_free(&c->window);
    MPI_Comm_free(&c->comm);
}

static void expect(const struct copies *c, int right, const char *what) {
    fail_answer(!right, "copies", "%s %llu of %d bytes (%s, %s) is not what was sent", what,
                (unsigned long long)c->counter, c->bytes, copy_operation_names[c->get],
                copy_synchronisation_names[c->locked]);
}

/* Pass what rank `from` has written to the other rank; the buffer in which it lies there. */
static unsigned char *pass(struct copies *c, int from) {
    if (!c->get) {
        if (c->rank == from)
            put(c, c->own);
        fence(c);
        return c->exposed;
    }
    fence(c); /* the data are in the window of `from` */
    if (c->rank != from)
        get(c, c->own);
    fence(c);
    return c->own;
}

/* Where a message is written before it is passed. */
static unsigned char *outgoing(struct copies *c) { return c->get ? c->exposed : c->own; }

static void round_trip(void *context) {
    struct copies *c = context;
    size_t bytes = (size_t)c->bytes;
    c->counter++;
    if (c->rank == 0)
        payload_put(outgoing(c), bytes, c->counter);
    unsigned char *arrived = pass(c, 0);
    if (c->rank == 1) {
        payload_answer(outgoing(c), arrived, bytes);
        if (c->inject_fault)
            outgoing(c)[0] ^= 1;
    }
    arrived = pass(c, 1);
    if (c->rank == 0)
        expect(c, payload_answers(arrived, bytes, c->counter), "the answer to message");
}

/* Rank 0, untimed, before each sample under a lock: verify the put before; make new data to get. */
static void between_samples(void *context) {
    struct copies *c = context;
    size_t bytes = (size_t)c->bytes;
    if (c->get) {
        c->counter++;
        payload_put(c->returned, bytes, c->counter);
        put_locked(c, c->returned);
        payload_put(c->own, bytes, 0);
        return;
    }
    get_locked(c, c->returned);
    if (c->inject_fault)
        c->returned[0] ^= 1;
    expect(c, payload_carries(c->returned, bytes, c->counter), "put");
}

static void copy_locked(void *context) {
    struct copies *c = context;
    size_t bytes = (size_t)c->bytes;
    if (c->get) {
        get_locked(c, c->own);
        if (c->inject_fault)
            c->own[0] ^= 1;
        expect(c, payload_carries(c->own, bytes, c->counter), "get");
        return;
    }
    c->counter++;
    payload_put(c->own, bytes, c->counter);
    put_locked(c, c->own);
}

static void verify(const struct copies *c, const unsigned char *found, uint64_t seed,
                   int complement) {
    size_t bytes = (size_t)c->bytes, at = payload_pattern_error(found, bytes, seed, complement);
    fail_answer(at < bytes, "copies_verify", "byte %zu of %zu is not what was sent (%s)", at, bytes,
                copy_operation_names[c->get]);
}

void copies_verify(struct copies *c, uint64_t seed) {
    size_t bytes = (size_t)c->bytes;
    if (c->rank == 0)
        payload_pattern(outgoing(c), bytes, seed);
    if (c->locked) {
        if (c->rank == 0) {
            payload_pattern(c->own, bytes, seed);
            put_locked(c, c->own);
            get_locked(c, c->returned);
            verify(c, c->returned, seed, 0);
        }
        MPI_Barrier(c->comm);
        return;
    }
    unsigned char *arrived = pass(c, 0);
    if (c->rank == 1) {
        verify(c, arrived, seed, 0);
        payload_complement(outgoing(c), arrived, bytes);
    }
    arrived = pass(c, 1);
    if (c->rank == 0)
        verify(c, arrived, seed, 1);
}

static void agree_alone(int *batch, void *with) {
    (void)batch;
    (void)with;
}

/* Rank 1 waits in MPI_Recv, where every library progresses what others do to its window. */
static void time_locked(struct copies *c, const struct timer *timer, int warmup, int iterations,
                        double *samples) {
    const struct sampling sampling = {warmup,      iterations, between_samples, copy_locked, c,
                                      agree_alone, NULL};
    MPI_Status status;
    if (c->rank == 1) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_DONE, c->comm, &status);
        return;
    }
    if (c->get)
        between_samples(c); /* the first data to get */
    timing_sample(timer, &sampling, samples);
    between_samples(c); /* the last put is verified, too */
    MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_DONE, c->comm);
}

void copies_time(struct copies *c, const struct timer *timer, int warmup, int iterations,
                 double *samples) {
    const struct timing_plan plan = {warmup, iterations, TIMING_RANK0};
    if (c->locked) {
        time_locked(c, timer, warmup, iterations, samples);
        return;
    }
    timing_run(timer, &plan, c->comm, round_trip, c, samples);
    for (int i = 0; c->rank == 0 && i < iterations; i++)
        samples[i] *= 0.5;
}
