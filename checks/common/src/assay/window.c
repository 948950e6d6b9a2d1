/* SPDX-License-Identifier: Apache-2.0 */
#include "window.h"

#include "buffer.h"
#include "fail.h"
#include "payload.h"

#define TAG 3
#define TAG_RECEIVED 4

static int receives(const struct window *w) { return w->rank == 1 || w->both_ways; }

static int sends(const struct window *w) { return w->rank == 0 || w->both_ways; }

static unsigned char *message(const struct window *w, unsigned char *buffer, int index) {
    return buffer + (size_t)index * (size_t)w->bytes;
}

/* Post all receives, then all sends, and wait for them. */
static void transfer(struct window *w) {
    int posted = 0, other = 1 - w->rank;
    for (int i = 0; receives(w) && i < w->messages; i++)
        MPI_Irecv(message(w, w->incoming, i), w->bytes, MPI_BYTE, other, TAG, w->comm,
                  &w->requests[posted++]);
    for (int i = 0; sends(w) && i < w->messages; i++)
        MPI_Isend(message(w, w->outgoing, i), w->bytes, MPI_BYTE, other, TAG, w->comm,
                  &w->requests[posted++]);
    /* MPI_Wait, as MPI-1's MPI_Waitall needs an array of statuses. */
    for (int i = 0; i < posted; i++) {
        MPI_Status status;
        MPI_Wait(&w->requests[i], &status);
    }
    if (w->inject_fault && receives(w) && w->bytes > 0)
        w->incoming[0] ^= 1;
}

static void acknowledge(struct window *w) {
    MPI_Status status;
    if (w->rank == 1)
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_RECEIVED, w->comm);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG_RECEIVED, w->comm, &status);
}

void window_pass(void *context) {
    struct window *w = context;
    size_t bytes = (size_t)w->bytes;
    for (int i = 0; sends(w) && i < w->messages; i++)
        payload_put(message(w, w->outgoing, i), bytes, w->counter + (uint64_t)i);
    transfer(w);
    for (int i = 0; receives(w) && i < w->messages; i++)
        fail_answer(!payload_carries(message(w, w->incoming, i), bytes, w->counter + (uint64_t)i),
                    __func__, "message %d of a window of %d, %d bytes, is not the one sent", i,
                    w->messages, w->bytes);
    w->counter += (uint64_t)w->messages;
    acknowledge(w);
}

void window_verify(struct window *w, uint64_t seed) {
    size_t bytes = (size_t)w->bytes;
    for (int i = 0; sends(w) && i < w->messages; i++)
        payload_pattern(message(w, w->outgoing, i), bytes, seed + (uint64_t)i);
    transfer(w);
    for (int i = 0; receives(w) && i < w->messages; i++) {
        size_t at = payload_pattern_error(message(w, w->incoming, i), bytes, seed + (uint64_t)i, 0);
        fail_answer(at < bytes, __func__, "byte %zu of %zu is not what was sent (message %d)", at,
                    bytes, i);
    }
    acknowledge(w);
}

void window_reserve(struct window *w, int messages, long long bytes) {
    w->outgoing = buffer_make((size_t)messages, (size_t)bytes);
    w->incoming = buffer_make((size_t)messages, (size_t)bytes);
    w->requests = buffer_make(2 * (size_t)messages, sizeof *w->requests);
}
