/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <mpi.h>
#include <stdint.h>

/* A window of non-blocking messages between the two ranks of a communicator: from rank 0 to rank 1,
 * or both ways at once. Each message has its own buffer and carries its number. */

struct window {
    MPI_Comm comm;
    int rank;                           /* in comm */
    int both_ways;                      /* 1: rank 1 sends as many at the same time */
    int messages, bytes;                /* messages each way, and the length of each */
    unsigned char *outgoing, *incoming; /* messages × bytes each, touched */
    MPI_Request *requests;              /* room for 2 × messages */
    uint64_t counter;                   /* messages so far */
    int inject_fault;                   /* deliberate fault: corrupt a received byte */
};

/* Transfer one window; context is a struct window. Returns on rank 0 when rank 1 has acknowledged
 * all messages by an empty one. The receiver verifies the number of each message; a wrong one ends
 * the run (fail_answer). Collective over comm. */
void window_pass(void *context);

/* Transfer one untimed window of patterns, every received byte verified; a wrong one ends the run
 * (fail_answer). Collective over comm. */
void window_verify(struct window *window, uint64_t seed);

/* Allocate buffers for so many messages of at most so many bytes each, to the end of the process.
 * Out of memory ends the run (fail_if). Local. */
void window_reserve(struct window *window, int messages, long long bytes);
