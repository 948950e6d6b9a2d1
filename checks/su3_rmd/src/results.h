/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_RESULTS_H
#define SU3_RESULTS_H

#include "input.h"
#include "simulation.h"

#include <stdio.h>

/* Everything that is printed: the original's lines as text on standard output, and JSON lines for
 * the harness on any stream. Rank 0 prints; other ranks pass through. */

struct results {
    FILE *json; /* NULL: no JSON lines; set on rank 0 only */
    int rank, block;
    double begun_s;           /* clock_now() when the program began */
    double program_s, warm_s; /* seconds of all blocks: all of it, warm-ups */
    long trajectories, measurements;
    struct measurement last;
};

/* Header, one for the run. library: name of the MPI library. */
void results_header(const struct results *results, const char *library,
                    const struct simulation *simulation, long iseed);

/* A block's parameters, as the original repeats them. */
void results_block(const struct results *results, const struct block *block);

/* `CHECK PLAQ`, `GMES`, and the lines that end a block. */
void results_check(const struct results *results, const struct measurement *measurement);
void results_measurement(struct results *results, const struct measurement *measurement);
void results_warm(const struct results *results);
void results_block_end(const struct results *results, double seconds);

/* Metrics and notes of the whole run, then the end line. Collective over simulation->comm: times
 * are reduced over ranks to their least, mean and greatest. */
void results_finish(const struct results *results, const struct simulation *simulation);

#endif
