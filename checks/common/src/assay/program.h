/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "args.h"
#include "timing.h"

#include <mpi.h>
#include <stddef.h>

/* This rank in MPI_COMM_WORLD, and the clock: set by program_main, then constant. */
struct world {
    int rank, ranks;
    struct timer timer;
};
extern struct world world;

/* The common frame of the measuring programs. What prepare allocates is used to the end of the
 * process and is not freed. */
struct program {
    const char *name, *purpose;
    const struct arg *options;
    size_t option_count;
    void (*prepare)(void *run);      /* every rank, after the options are read */
    void (*measure)(void *run);      /* every rank */
    void (*report)(const void *run); /* rank 0: the notes after measuring; may be NULL */
};

/* MPI_Init, options, world, prepare, program line, measure, report, notes of the timer, end line,
 * MPI_Finalize. Collective over all ranks. Returns main's status. */
int program_main(const struct program *program, void *run, int argc, char **argv);

/* A communicator of rank 0 and the last rank (of one rank where there is but one); MPI_COMM_NULL on
 * the ranks between; *rank is the rank in it. Collective over MPI_COMM_WORLD. */
MPI_Comm program_ends(int *rank);
