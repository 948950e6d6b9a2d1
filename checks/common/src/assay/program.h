/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "args.h"

#include <mpi.h>
#include <stddef.h>

/* The common frame of the measuring programs. */
struct program {
    const char *name, *purpose;
    const struct arg *options;
    size_t option_count;
    void (*prepare)(void *run);      /* every rank, after the options are read */
    void (*measure)(void *run);      /* every rank */
    void (*report)(const void *run); /* rank 0: the notes after measuring */
    void (*release)(void *run);      /* every rank */
};

/* MPI_Init, options, prepare, program line, measure, report, end line, release, MPI_Finalize.
 * Collective over all ranks. Returns main's status. */
int program_main(const struct program *program, void *run, int argc, char **argv);

/* A communicator of rank 0 and the last rank (of one rank where there is but one); MPI_COMM_NULL on
 * the ranks between. The caller frees it. Collective over MPI_COMM_WORLD. */
MPI_Comm program_ends(void);
