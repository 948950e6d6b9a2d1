/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "input.h"
#include "simulation.h"

#include <stdio.h>

/* All output: the original's lines as text on standard output, and JSON lines for the harness on
 * any stream. Rank 0 prints; on other ranks the functions do nothing unless stated. */

struct results {
    FILE *json; /* where report.h writes; NULL: no JSON lines; set on rank 0 only */
    int rank, block;
    double begun_s;           /* timing_monotonic() at the start of the program */
    double program_s, warm_s; /* s in all blocks; of which in warm-ups */
    long trajectories, measurements;
    struct measurement last;
};

/* The header of the run. library: name of the MPI library. */
void results_header(const struct results *results, const char *library,
                    const struct simulation *simulation, long iseed);

/* The parameters of a block, as the original prints them. */
void results_block(const struct results *results, const struct block *block);

/* `CHECK PLAQ`, `GMES`, and the lines that end a block. */
void results_check(const struct results *results, const struct measurement *measurement);
void results_measurement(struct results *results, const struct measurement *measurement);
void results_warm(const struct results *results);
void results_block_end(const struct results *results, double seconds);

/* Metrics and notes of the run, then the end line; times are reduced to least, mean and greatest
 * over ranks. Links that are not in SU(3) end the run (fail_all). Collective over simulation->comm.
 */
void results_finish(const struct results *results, const struct simulation *simulation);
