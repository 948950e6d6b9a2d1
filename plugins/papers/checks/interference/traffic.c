/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic.h"

#include "assay/fail.h"
#include "assay/payload.h"

#include <stddef.h>

#define EXCHANGE_TAG 11
#define STREAM_TAG 12
#define ANSWER_TAG 13

static unsigned char *message(const struct traffic *t, unsigned char *buffer, int index) {
    return buffer + (size_t)index * (size_t)t->bytes;
}

static uint64_t seed_of(const struct traffic *t, int sender, int index) {
    return t->seed + 2 * (uint64_t)index + (uint64_t)sender;
}

void traffic_fill(struct traffic *t) {
    size_t bytes = (size_t)t->bytes;
    for (int i = 0; i < t->window; i++) {
        unsigned char *incoming = message(t, t->incoming, i);
        payload_pattern(message(t, t->outgoing, i), bytes, seed_of(t, t->rank, i));
        payload_pattern(incoming, bytes, seed_of(t, 1 - t->rank, i));
        for (size_t at = 0; at < bytes; at++)
            incoming[at] ^= 0xff; /* wrong in every byte until the message has come */
    }
}

void traffic_post(struct traffic *t, int count) {
    for (int i = 0; i < count; i++)
        MPI_Irecv(message(t, t->incoming, i), t->bytes, MPI_BYTE, 1 - t->rank, EXCHANGE_TAG,
                  t->pair, &t->requests[i]);
    for (int i = 0; i < count; i++)
        MPI_Isend(message(t, t->outgoing, i), t->bytes, MPI_BYTE, 1 - t->rank, EXCHANGE_TAG,
                  t->pair, &t->requests[t->window + i]);
}

void traffic_wait(struct traffic *t) {
    for (int i = 0; i < 2 * t->window; i++) {
        MPI_Status status;
        if (t->requests[i] != MPI_REQUEST_NULL)
            MPI_Wait(&t->requests[i], &status);
    }
}

void traffic_stream(void *context) {
    struct traffic *t = context;
    char nothing = 0;
    MPI_Status status;
    for (int i = 0; i < t->window; i++)
        if (t->rank == 0)
            MPI_Isend(message(t, t->outgoing, i), t->bytes, MPI_BYTE, 1, STREAM_TAG, t->pair,
                      &t->requests[i]);
        else
            MPI_Irecv(message(t, t->incoming, i), t->bytes, MPI_BYTE, 0, STREAM_TAG, t->pair,
                      &t->requests[i]);
    traffic_wait(t);
    if (t->rank == 0)
        MPI_Recv(&nothing, 0, MPI_CHAR, 1, ANSWER_TAG, t->pair, &status);
    else
        MPI_Send(&nothing, 0, MPI_CHAR, 0, ANSWER_TAG, t->pair);
}

void traffic_verify(struct traffic *t, int count, int fault) {
    size_t bytes = (size_t)t->bytes;
    if (fault && count && bytes)
        message(t, t->incoming, count - 1)[bytes - 1] ^= 1;
    for (int i = 0; i < count; i++) {
        size_t at =
            payload_pattern_error(message(t, t->incoming, i), bytes, seed_of(t, 1 - t->rank, i), 0);
        fail_answer(at < bytes, __func__, "byte %zu of %zu of message %d is not what was sent", at,
                    bytes, i);
    }
}
