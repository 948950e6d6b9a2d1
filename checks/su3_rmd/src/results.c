/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* getrusage */
#include "results.h"

#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/report.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

/* ---- text, as the original ---- */

void results_header(const struct results *results, const char *library,
                    const struct simulation *simulation, long iseed) {
    const struct lattice *lattice = &simulation->lattice;
    const int *size = lattice->size, *local = lattice->local, *procs = lattice->procs;
    if (results->rank != 0)
        return;
    printf("Pure gauge SU3\nMicrocanonical simulation with refreshing\n");
    printf("su3_rmd of Assay, %s precision, %s, with %d ranks\n\n", REAL_NAME, library,
           lattice->ranks);
    printf("nx %d\nny %d\nnz %d\nnt %d\niseed %ld\n", size[0], size[1], size[2], size[3], iseed);
    printf("LAYOUT = %d x %d x %d x %d ranks\n", procs[0], procs[1], procs[2], procs[3]);
    printf("ON EACH NODE (RANK) %d x %d x %d x %d\n", local[0], local[1], local[2], local[3]);
    printf("kernels %s, %d sites a vector, blocks of %d x %d x %d x %d\n",
           simulation->kernels->name, lattice->lanes, lattice->sub[0], lattice->sub[1],
           lattice->sub[2], lattice->sub[3]);
    printf("messages %s, overlap %s\n\n", halo_mode_names[simulation->halo.mode],
           simulation->overlap ? "yes" : "no");
    fflush(stdout);
}

void results_block(const struct results *results, const struct block *block) {
    if (results->rank != 0)
        return;
    printf("\nwarms %ld\ntrajecs %ld\ntraj_between_meas %ld\n", block->warms, block->trajecs,
           block->between);
    printf("beta %g\nmicrocanonical_time_step %g\nsteps_per_trajectory %d\n", block->physics.beta,
           block->physics.epsilon, block->physics.steps);
    printf("%s %s\n%s %s\n", block->start_word, block->from, block->end_word, block->to);
    if (block->start == START_FRESH)
        printf("unit gauge configuration loaded\n");
    fflush(stdout);
}

void results_check(const struct results *results, const struct measurement *measurement) {
    if (results->rank != 0)
        return;
    printf("CHECK PLAQ: " REAL_CHECK_FORMAT " " REAL_CHECK_FORMAT "\n", measurement->space,
           measurement->time);
}

void results_warm(const struct results *results) {
    if (results->rank != 0)
        return;
    printf("WARMUPS COMPLETED\n");
    fflush(stdout);
}

void results_measurement(struct results *results, const struct measurement *measurement) {
    results->last = *measurement;
    results->measurements++;
    if (results->rank != 0)
        return;
    printf("GMES %e %e %e %e %e\n", measurement->line_re, measurement->line_im, 99.9,
           measurement->space, measurement->time);
    fflush(stdout);
    if (!results->json)
        return;
    struct json fields;
    json_begin(&fields);
    json_integer(&fields, "block", results->block);
    json_integer(&fields, "trajectory", results->trajectories);
    json_number(&fields, "plaquette_space", measurement->space);
    json_number(&fields, "plaquette_time", measurement->time);
    json_number(&fields, "polyakov_re", measurement->line_re);
    json_number(&fields, "polyakov_im", measurement->line_im);
    report_note_object("measurement", &fields);
}

void results_block_end(const struct results *results, double seconds) {
    if (results->rank != 0)
        return;
    printf("RUNNING COMPLETED\nTime = %e seconds\n\n", seconds);
    fflush(stdout);
}

/* ---- numbers of all ranks ---- */

enum rank_number {
    RANK_COMMUNICATION,
    RANK_PACKING,
    RANK_GLOBAL_SUMS,
    RANK_REFRESH,
    RANK_DYNAMICS,
    RANK_MEASUREMENT,
    RANK_CPU,
    RANK_MESSAGES,
    RANK_BYTES,
    RANK_NUMBERS
};

static const char *const rank_names[RANK_NUMBERS] = {
    "communication_s", "packing_s", "global_sums_s", "refresh_s", "dynamics_s",
    "measurement_s",   "cpu_s",     "messages",      "bytes"};

struct spread {
    double least[RANK_NUMBERS], mean[RANK_NUMBERS], most[RANK_NUMBERS];
};

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

/* The numbers of all ranks, on rank 0. Collective over simulation->comm. */
static void reduce_ranks(const struct simulation *simulation, struct spread *spread) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    const struct halo_count *count = &simulation->halo.count;
    const struct times *times = &simulation->times;
    double own[RANK_NUMBERS] = {[RANK_COMMUNICATION] = count->communication_s,
                                [RANK_PACKING] = count->packing_s,
                                [RANK_GLOBAL_SUMS] = times->global_sum_s,
                                [RANK_REFRESH] = times->refresh_s,
                                [RANK_DYNAMICS] = times->dynamics_s,
                                [RANK_MEASUREMENT] = times->measurement_s,
                                [RANK_CPU] = seconds(used.ru_utime) + seconds(used.ru_stime),
                                [RANK_MESSAGES] = (double)count->messages,
                                [RANK_BYTES] = (double)count->bytes};
    MPI_Reduce(own, spread->least, RANK_NUMBERS, MPI_DOUBLE, MPI_MIN, 0, simulation->comm);
    MPI_Reduce(own, spread->mean, RANK_NUMBERS, MPI_DOUBLE, MPI_SUM, 0, simulation->comm);
    MPI_Reduce(own, spread->most, RANK_NUMBERS, MPI_DOUBLE, MPI_MAX, 0, simulation->comm);
    for (int i = 0; i < RANK_NUMBERS; i++)
        spread->mean[i] /= simulation->lattice.ranks;
}

/* ---- work ---- */

struct total {
    double original_flop, done_flop, moved_bytes;
};

/* Reals that a part moves a site. */
static double moved_reals(const struct simulation *simulation, int part) {
    return simulation->lattice.by_slice ? kernel_costs[part].moved_slice_reals
                                        : kernel_costs[part].moved_reals;
}

static void add_part(struct total *total, const struct simulation *simulation, enum cost part,
                     double times) {
    total->original_flop += times * kernel_costs[part].original_flop;
    total->done_flop += times * kernel_costs[part].done_flop;
    total->moved_bytes += times * moved_reals(simulation, part) * sizeof(real);
}

static struct total total_work(const struct simulation *simulation) {
    const double sites = (double)lattice_sites(&simulation->lattice);
    const struct work *work = &simulation->work;
    struct total total = {0, 0, 0};
    add_part(&total, simulation, COST_FORCE, sites * (double)work->steps);
    add_part(&total, simulation, COST_UPDATE, sites * (double)work->steps);
    add_part(&total, simulation, COST_REUNITARISE, sites * (double)work->steps);
    add_part(&total, simulation, COST_DRIFT, sites * (double)work->drifts);
    add_part(&total, simulation, COST_PLAQUETTE, sites * (double)work->plaquettes);
    return total;
}

/* ---- JSON ---- */

static void write_metrics(const struct results *results, const struct simulation *simulation,
                          const struct spread *spread) {
    const struct total total = total_work(simulation);
    const double site_steps =
        (double)lattice_sites(&simulation->lattice) * (double)simulation->work.steps;
    const double messages_s = spread->mean[RANK_COMMUNICATION] + spread->mean[RANK_GLOBAL_SUMS];
    const double program_s = results->program_s;
    report_value("total_time", "s", timing_monotonic() - results->begun_s, NULL, 0);
    report_value("program_time", "s", program_s, NULL, 0);
    report_value("warmup_time", "s", results->warm_s, NULL, 0);
    report_value("molecular_dynamics_time", "s",
                 spread->most[RANK_DYNAMICS] + spread->most[RANK_REFRESH], NULL, 0);
    report_value("measurement_time", "s", spread->most[RANK_MEASUREMENT], NULL, 0);
    report_value("communication_time", "s", messages_s, NULL, 0);
    report_value("global_sum_time", "s", spread->mean[RANK_GLOBAL_SUMS], NULL, 0);
    report_value("cpu_time", "s", spread->mean[RANK_CPU] * simulation->lattice.ranks, NULL, 0);
    if (program_s <= 0 || site_steps <= 0)
        return; /* no trajectory */
    report_value("communication_share", "1", messages_s / program_s, NULL, 0);
    report_value("site_step_time", "s", program_s / site_steps, NULL, 0);
    report_value("rate", "flop/s", total.original_flop / program_s, NULL, 0);
}

static void write_kernels(const struct simulation *simulation) {
    const struct total total = total_work(simulation);
    struct json fields;
    json_begin(&fields);
    json_string(&fields, "set", simulation->kernels->name);
    json_integer(&fields, "lanes", simulation->lattice.lanes);
    json_string(&fields, "precision", REAL_NAME);
    json_number(&fields, "original_flop", total.original_flop);
    json_number(&fields, "done_flop", total.done_flop);
    json_number(&fields, "moved_bytes", total.moved_bytes);
    json_number(&fields, "intensity_flop_per_byte",
                total.moved_bytes > 0 ? total.done_flop / total.moved_bytes : 0);
    json_open(&fields, "parts", '[');
    for (int part = 0; part < COST_PARTS; part++) {
        json_open(&fields, NULL, '{');
        json_string(&fields, "part", kernel_costs[part].part);
        json_number(&fields, "original_flop_per_site", kernel_costs[part].original_flop);
        json_number(&fields, "done_flop_per_site", kernel_costs[part].done_flop);
        json_number(&fields, "bytes_per_site", moved_reals(simulation, part) * sizeof(real));
        json_string(&fields, "derivation", kernel_costs[part].derivation);
        json_close(&fields, '}');
    }
    json_close(&fields, ']');
    report_note_object("kernels", &fields);
}

void results_finish(const struct results *results, const struct simulation *simulation) {
    struct json fields;
    struct spread spread;
    double own = fields_deviation(&simulation->lattice, &simulation->fields), deviation;
    memset(&spread, 0, sizeof spread);
    if (isnan(own))
        own = HUGE_VAL;
    MPI_Allreduce(&own, &deviation, 1, MPI_DOUBLE, MPI_MAX, simulation->comm);
    fail_all(!(deviation <= SIMULATION_DEVIATION), "results_finish",
             "links deviate from SU(3) by %g at the end, allowed is %g", deviation,
             SIMULATION_DEVIATION);
    reduce_ranks(simulation, &spread);
    if (results->rank != 0 || !results->json)
        return;
    write_metrics(results, simulation, &spread);

    json_begin(&fields);
    json_integer(&fields, "trajectories", results->trajectories);
    json_integer(&fields, "measurements", results->measurements);
    if (results->measurements > 0) {
        json_number(&fields, "plaquette", (results->last.space + results->last.time) / 6);
        json_number(&fields, "plaquette_space", results->last.space);
        json_number(&fields, "plaquette_time", results->last.time);
    }
    json_number(&fields, "deviation_before_reunitarising", simulation->deviation);
    json_number(&fields, "deviation_from_su3", deviation);
    report_note_object("answer", &fields);

    json_begin(&fields);
    for (int i = 0; i < RANK_NUMBERS; i++) {
        json_open(&fields, rank_names[i], '{');
        json_number(&fields, "least", spread.least[i]);
        json_number(&fields, "mean", spread.mean[i]);
        json_number(&fields, "greatest", spread.most[i]);
        json_close(&fields, '}');
    }
    report_note_object("ranks", &fields);
    write_kernels(simulation);
    report_end("su3_rmd", 1);
}
