/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/timing.h"
#include "roles.h"
#include "traffic.h"

#include <stdint.h>

/* The measurements at one message size; every time is a median over samples, s. */

struct phases {
    struct roles roles;
    struct traffic traffic; /* of endpoints */
    struct timing_plan plan;
    struct timer timer;
    uint64_t turns;        /* of one counting loop */
    uint64_t hidden_turns; /* of the loop that overlaps with an exchange */
    int fault_message, fault_count;
    double exchange_s;         /* one message each way between the endpoints */
    double overlap;            /* 0 … 1: see below */
    double availability;       /* 0 … 1: see below */
    double stream_resting_s;   /* a window of the stream, neighbours at rest */
    double stream_computing_s; /* … and computing; 0 without neighbours */
};

/* The counting loop of a rank, s; passing_s is 0 if not measured. */
struct outcome {
    int role;         /* enum role */
    double alone_s;   /* while all other ranks rest */
    double passing_s; /* while messages pass */
};

/* Collective over all ranks. One after the other: every rank counts alone; the endpoints count
 * while a window of messages each way is in flight; the endpoints exchange, compute for as long,
 * and do both at the same time; they stream while neighbours rest; they stream while neighbours
 * count.
 *
 * overlap = 1 − (t_both − t_compute) / t_exchange, clamped to 0 … 1 (OSU micro-benchmarks, such as
 * osu_ibcast; the overhead of Lawry, Wilson, Maccabe and Brightwell, COMB, 2002);
 * availability = t_compute / t_both, at most 1. */
struct outcome phases_run(struct phases *phases);
