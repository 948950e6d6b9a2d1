/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_WINDOW_H
#define ASSAY_WINDOW_H

#include <mpi.h>
#include <stdint.h>

/* A window of non-blocking messages between rank 0 and rank 1 of a communicator of two ranks: from
 * 0 to 1, or both ways at once. Each message has a buffer of its own and carries its number. */

struct window {
    MPI_Comm comm;
    int rank;                           /* in comm */
    int both_ways;                      /* 1: rank 1 sends as many to rank 0 at the same time */
    int messages, bytes;                /* messages each way, and the length of each */
    unsigned char *outgoing, *incoming; /* messages × bytes each, touched */
    MPI_Request *requests;              /* room for 2 × messages */
    uint64_t counter;                   /* messages so far */
    int inject_fault;                   /* alter a received byte, which must end the run */
};

/* Pass one window; collective over both ranks; context is a struct window. It ends on rank 0 when
 * rank 1 says, by an empty message, that it has them all. The receiver verifies the number of each
 * message; a wrong one ends the run (fail_answer). */
void window_pass(void *context);

/* Pass one window of patterns, every byte verified where it arrived. Collective; a wrong byte ends
 * the run. Outside of any timing. */
void window_verify(struct window *window, uint64_t seed);

/* Reserve buffers for so many messages of at most so many bytes and touch them; ends the run when
 * memory is short. window_free gives them back. Not collective. */
void window_reserve(struct window *window, int messages, long long bytes);
void window_free(struct window *window);

#endif
