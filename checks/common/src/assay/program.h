/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_PROGRAM_H
#define ASSAY_PROGRAM_H

#include "args.h"

#include <stddef.h>

/* The frame of a measuring program: what comes before and after its own work. */
struct program {
    const char *name, *purpose;
    const struct arg *options;
    size_t option_count;
    void (*prepare)(void *run);      /* every rank, once the options are read */
    void (*measure)(void *run);      /* every rank */
    void (*report)(const void *run); /* rank 0: what is left to tell after measuring */
    void (*release)(void *run);      /* every rank */
};

/* MPI_Init, the options, prepare, the first line, measure, report, the last line, release,
 * MPI_Finalize. Returns main's status. */
int program_main(const struct program *program, void *run, int argc, char **argv);

#endif
