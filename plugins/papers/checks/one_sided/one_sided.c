/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided copies between rank 0 and the last rank: MPI_Put and MPI_Get, completed by fences or
 * under a lock (copies.h). The ranks between the two sleep. */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/rest.h"
#include "assay/shuffle.h"
#include "assay/sizes.h"
#include "assay/timing.h"
#include "copies.h"

#include <mpi.h>

#define PROGRAM "one_sided"
#define PURPOSE "one-sided copies from rank 0 to the last rank; JSON lines on standard output"

static struct {
    unsigned long operations, synchronisation;
    const char *sizes;
    long long iterations, warmup, seed;
    int inject_fault;
} settings = {(1UL << COPY_OPERATIONS) - 1, 1, "log:1:1048576:2", 100, 10, 1, 0};

static const struct arg options[] = {
    {"operations", ARG_CHOICES, &settings.operations, 0, 0, copy_operation_names,
     "comma list of put and get, or all (default)"},
    {"synchronisation", ARG_CHOICES, &settings.synchronisation, 0, 0, copy_synchronisation_names,
     "what completes a copy: fence (default) or lock"},
    ARG_SIZES(&settings.sizes),
    ARG_ITERATIONS(&settings.iterations, "copies for each operation and size (default 100)"),
    ARG_WARMUP(&settings.warmup, "copies before them, excluded (default 10)"),
    ARG_SEED(&settings.seed, "the order"),
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt a byte of each copy"),
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct sizes sizes;
    struct copies copies;
    double *samples;
};

static void prepare(void *context) {
    struct run *run = context;
    sizes_read(&run->sizes, settings.sizes, PROGRAM);
    fail_all(run->sizes.bytes[0] == 0, PROGRAM,
             "option --sizes: found 0, allowed are sizes above 0: nothing is copied");
    fail_all(world.ranks < 2, PROGRAM, "found %d ranks, allowed are at least 2", world.ranks);
    unsigned long both = (1UL << COPY_SYNCHRONISATIONS) - 1;
    fail_all(settings.synchronisation == both, PROGRAM,
             "option --synchronisation: found two, allowed is fence or lock");
    run->copies.locked = settings.synchronisation >> 1 & 1;
    fail_all(run->copies.locked && !copies_can_lock(), PROGRAM,
             "option --synchronisation: found lock, which this library lacks; allowed is fence");
    run->samples = buffer_make((size_t)settings.iterations, sizeof *run->samples);
}

static void report_point(const struct run *run, const char *operation) {
    const struct report_position at[] = {{"operation", operation, 0},
                                         {"message_bytes", NULL, run->copies.bytes}};
    size_t count = (size_t)settings.iterations;
    struct timing_summary t = timing_summarise(run->samples, (int)count);
    report_metric("one_sided_time", "s", t.median, at, 2, run->samples, count);
    report_value("one_sided_time_least", "s", t.best, at, 2);
    report_value("one_sided_rate", "bytes/s", run->copies.bytes / t.median, at, 2);
    report_value("one_sided_rate_best", "bytes/s", run->copies.bytes / t.best, at, 2);
}

/* Collective over the two ends. */
static void measure_point(void *context, size_t point) {
    struct run *run = context;
    struct copies *copies = &run->copies;
    copies->get = (int)(point / run->sizes.count);
    if (!(settings.operations >> copies->get & 1))
        return;
    copies->bytes = (int)run->sizes.bytes[point % run->sizes.count];
    copies->counter = (uint64_t)point << 32;
    copies_verify(copies, (uint64_t)settings.seed + point);
    copies_time(copies, &world.timer, (int)settings.warmup, (int)settings.iterations, run->samples);
    if (world.rank == 0)
        report_point(run, copy_operation_names[copies->get]);
}

static void measure(void *context) {
    struct run *run = context;
    struct copies *copies = &run->copies;
    copies->inject_fault = settings.inject_fault;
    copies->comm = program_ends(&copies->rank);
    if (copies->comm != MPI_COMM_NULL) {
        copies_open(copies, run->sizes.bytes[run->sizes.count - 1]);
        shuffled_each(COPY_OPERATIONS * run->sizes.count, (uint64_t)settings.seed, measure_point,
                      run);
        copies_close(copies);
    }
    rest_until_all(MPI_COMM_WORLD);
}

static void report(const void *context) {
    (void)context;
    report_note_text("payload_verified", "every copy, and every byte once a point");
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
