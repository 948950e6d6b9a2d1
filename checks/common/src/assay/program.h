/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "args.h"

#include <mpi.h>
#include <stddef.h>

/* The common frame of the measuring programs. What prepare allocates is used to the end of the
 * process and is not freed. */
struct program {
    const char *name, *purpose;
    const struct arg *options;
    size_t option_count;
    void (*prepare)(void *run);      /* every rank, after the options are read */
    void (*measure)(void *run);      /* every rank */
    void (*report)(const void *run); /* rank 0: the notes after measuring */
};

/* MPI_Init, options, prepare, program line, measure, report, end line, MPI_Finalize. Collective
 * over all ranks. Returns main's status. */
int program_main(const struct program *program, void *run, int argc, char **argv);

/* A communicator of rank 0 and the last rank (of one rank where there is but one); MPI_COMM_NULL on
 * the ranks between. Collective over MPI_COMM_WORLD. */
MPI_Comm program_ends(void);
