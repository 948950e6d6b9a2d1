/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/clock.h"

#include <mpi.h>
#include <stdint.h>

/* One-sided copies between the two ranks of a communicator, each of which exposes a buffer.
 *
 * Completed by fences: the two copy there and back. A put there and its answer back take a fence
 * each; a get takes two, of which the first makes the data ready. The answer is computed from what
 * arrived. A copy's time is half a round trip.
 * Under a lock: rank 0 alone copies, and rank 1 only lets its library progress. A copy's time is
 * that of lock, copy and unlock, after which it is complete at the target. */

#define COPY_OPERATIONS 2
#define COPY_SYNCHRONISATIONS 2
extern const char *const copy_operation_names[COPY_OPERATIONS + 1];
extern const char *const copy_synchronisation_names[COPY_SYNCHRONISATIONS + 1];

struct copies {
    MPI_Comm comm;           /* of two ranks */
    int rank;                /* in comm */
    int locked;              /* 1: under a lock, 0: by fences */
    int get;                 /* 1: MPI_Get, 0: MPI_Put */
    int bytes;               /* of each copy, above 0 */
    unsigned char *exposed;  /* what the window shows of this rank */
    unsigned char *own;      /* this rank's other end of a copy */
    unsigned char *returned; /* what a put is verified by */
    MPI_Win window;
    uint64_t counter; /* copies so far; goes into the data */
    int inject_fault; /* deliberate fault: corrupt a byte of each copy */
};

/* 1 if the library has passive targets (LAM has none). Local. */
int copies_can_lock(void);

/* Make the window and buffers for copies of at most so many bytes; free the window and comm.
 * Collective over comm. */
void copies_open(struct copies *copies, long long bytes);
void copies_close(struct copies *copies);

/* Copy an untimed pattern, every byte verified; a wrong one ends the run (fail_answer). Collective
 * over comm. */
void copies_verify(struct copies *copies, uint64_t seed);

/* Time so many copies after the warm-up; samples, s, on rank 0. The data of every sample are
 * verified; wrong ones end the run (fail_answer). Collective over comm. */
void copies_time(struct copies *copies, const struct timer *timer, int warmup, int iterations,
                 double *samples);
