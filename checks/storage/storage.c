/* SPDX-License-Identifier: Apache-2.0 */
/* Storage: writes and reads in files of each rank and in a shared one, over transfer lengths and
 * orders, and many small files; every byte is verified by another rank than the writer's. */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/hosts.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/sizes.h"
#include "assay/timing.h"
#include "small_files.h"
#include "target.h"
#include "transfers.h"

#include <mpi.h>
#include <stdlib.h>

#define PROGRAM "storage"
#define PURPOSE "rates of files of all ranks; JSON lines on standard output"
/* Of a part in memory before it is read: metadata of a file may be. */
#define MOST_RESIDENT 0.05

static const char *const layout_names[] = {"own", "shared", NULL};
static const char *const access_names[] = {"sequential", "random", NULL};
static const char *const cache_names[] = {"direct", "dropped", NULL};
enum { DIRECT = 1 };

static struct {
    const char *target, *folder, *file_system, *sizes;
    unsigned long layouts, accesses, caches;
    long long part_bytes, transfers, files, repetitions, limit_bytes, seed;
    int local, inject_fault;
} settings = {.target = "unnamed",
              .sizes = "4096,1048576",
              .layouts = 3,
              .accesses = 3,
              .caches = DIRECT,
              .part_bytes = 1 << 24,
              .transfers = 1024,
              .files = 64,
              .repetitions = 3,
              .limit_bytes = 1LL << 40,
              .seed = 1};

static const struct arg options[] = {
    {"target", ARG_TEXT, &settings.target, 0, 0, NULL,
     "name of what is measured, printed again (default unnamed)"},
    {"folder", ARG_TEXT, &settings.folder, 0, 0, NULL,
     "folder to make, write in and remove; absolute"},
    {"file-system", ARG_TEXT, &settings.file_system, 0, 0, NULL,
     "type that its file system must have, as in /proc/mounts"},
    {"local", ARG_FLAG, &settings.local, 0, 0, NULL,
     "each node has its own folder of this name (default: all nodes see the same)"},
    {"sizes", ARG_TEXT, &settings.sizes, 0, 0, NULL,
     "bytes of a transfer, multiples of 4096, joined by commas"},
    {"layouts", ARG_CHOICES, &settings.layouts, 0, 0, layout_names,
     "files: own of each rank, one shared, or all (default)"},
    {"accesses", ARG_CHOICES, &settings.accesses, 0, 0, access_names,
     "order of transfers: sequential, random, or all (default)"},
    {"caches", ARG_CHOICES, &settings.caches, 0, 0, cache_names,
     "direct (O_DIRECT, else dropped; default) or dropped (posix_fadvise)"},
    {"part-bytes", ARG_INTEGER, &settings.part_bytes, BLOCK_BYTES, 1e15, NULL,
     "most bytes that a rank writes at a point (default 16777216)"},
    {"transfers", ARG_INTEGER, &settings.transfers, 1, 1e9, NULL,
     "most transfers of a rank at a point (default 1024)"},
    {"files", ARG_INTEGER, &settings.files, 0, 1e7, NULL,
     "small files of each rank; 0: none (default 64)"},
    {"repetitions", ARG_INTEGER, &settings.repetitions, 1, 10000, NULL,
     "samples of each quantity (default 3)"},
    {"limit-bytes", ARG_INTEGER, &settings.limit_bytes, 0, 1e18, NULL,
     "most bytes of files at a time, of all ranks; more are refused"},
    ARG_SEED(&settings.seed, "content and orders"),
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt a byte of each transfer"),
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct sizes sizes;
    struct hosts hosts;
    struct target target;
    double *samples[2]; /* of writing, of reading */
    double *steps[SMALL_STEPS];
    double node_s[2], node_bytes; /* first rank of a node: of all its ranks, over all points */
    double resident;
    uint64_t passes;
};

static long long transfers_of(long long bytes) {
    long long fitting = settings.part_bytes / bytes;
    fitting = fitting < settings.transfers ? fitting : settings.transfers;
    return fitting > 0 ? fitting : 1;
}

static int one_choice(unsigned long choices) { return choices && !(choices & (choices - 1)); }

/* What all files take at most at a time, of all ranks. */
static long long needed_bytes(const struct run *run) {
    long long most = settings.files * BLOCK_BYTES;
    for (size_t i = 0; i < run->sizes.count; i++) {
        long long part = run->sizes.bytes[i] * transfers_of(run->sizes.bytes[i]);
        most = part > most ? part : most;
    }
    return most * world.ranks;
}

static void prepare(void *context) {
    struct run *run = context;
    char host[HOST_BYTES];
    fail_all(!settings.folder || settings.folder[0] != '/' || !settings.file_system, PROGRAM,
             "options --folder (an absolute path) and --file-system are required");
    fail_all(!one_choice(settings.caches), PROGRAM,
             "option --caches: found both, allowed is direct or dropped");
    sizes_read(&run->sizes, settings.sizes, PROGRAM);
    for (size_t i = 0; i < run->sizes.count; i++)
        fail_all(run->sizes.bytes[i] < BLOCK_BYTES || run->sizes.bytes[i] % BLOCK_BYTES != 0,
                 PROGRAM, "option --sizes: found %lld, allowed are multiples of %d",
                 run->sizes.bytes[i], BLOCK_BYTES);
    long long needed = needed_bytes(run);
    fail_all(needed > settings.limit_bytes, PROGRAM,
             "files would take %lld bytes; --limit-bytes allows %lld", needed,
             settings.limit_bytes);
    size_t count = (size_t)settings.repetitions;
    for (int i = 0; i < 2; i++)
        run->samples[i] = buffer_make(count, sizeof(double));
    for (int i = 0; i < SMALL_STEPS; i++)
        run->steps[i] = buffer_make(count, sizeof(double));
    host_short_name(host);
    hosts_find(&run->hosts, host, MPI_COMM_WORLD);
    run->target = (struct target){.folder = settings.folder,
                                  .type = settings.file_system,
                                  .limit_bytes = needed,
                                  .files = world.ranks * (settings.files + 3),
                                  .local = settings.local,
                                  .direct = (settings.caches & DIRECT) != 0};
    target_enter(&run->target, &run->hosts);
}

/* The slowest rank's time on every rank; the slowest of a node is added to its first rank's. */
static double slowest_s(struct run *run, double own_s, double *of_node_s) {
    double node_s = 0, all_s;
    MPI_Reduce(&own_s, &node_s, 1, MPI_DOUBLE, MPI_MAX, 0, run->target.on_node);
    if (of_node_s)
        *of_node_s += node_s;
    MPI_Allreduce(&own_s, &all_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all_s;
}

static void pass(struct run *run, struct transfers *transfers, long long repetition) {
    double resident = 0, most = 0, on_node = 0;
    double bytes = (double)(transfers->bytes * transfers->count);
    transfers->seed = (uint64_t)settings.seed * 1000003U + run->passes++;
    double write_s = transfers_write(transfers), read_s = transfers_read(transfers, &resident);
    transfers_remove(transfers);
    MPI_Allreduce(&resident, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    run->resident = most > run->resident ? most : run->resident;
    fail_answer(most > MOST_RESIDENT && !target_is_memory(&run->target) && !run->target.direct,
                PROGRAM,
                "%.0f %% of a part was in memory when it was to be read: a cached read; on one "
                "node use caches: direct",
                100 * most);
    MPI_Reduce(&bytes, &on_node, 1, MPI_DOUBLE, MPI_SUM, 0, run->target.on_node);
    run->node_bytes += on_node;
    double all = bytes * world.ranks;
    run->samples[0][repetition] = all / slowest_s(run, write_s, &run->node_s[0]);
    run->samples[1][repetition] = all / slowest_s(run, read_s, &run->node_s[1]);
}

static void measure_point(struct run *run, long long bytes, int layout, int access) {
    static const char *const metrics[] = {"storage_write_rate", "storage_read_rate"};
    struct transfers transfers = {.target = &run->target,
                                  .bytes = bytes,
                                  .count = transfers_of(bytes),
                                  .shared = layout,
                                  .random = access,
                                  .inject_fault = settings.inject_fault};
    for (long long i = 0; i < settings.repetitions; i++)
        pass(run, &transfers, i);
    const struct report_position at[] = {{"layout", layout_names[layout], 0},
                                         {"access", access_names[access], 0},
                                         {"transfer_bytes", NULL, bytes}};
    size_t count = (size_t)settings.repetitions;
    for (int i = 0; world.rank == 0 && i < 2; i++)
        report_metric(metrics[i], "bytes/s", timing_summarise(run->samples[i], (int)count).median,
                      at, 3, run->samples[i], count);
}

static void measure_small_files(struct run *run) {
    size_t count = (size_t)settings.repetitions;
    double times[SMALL_STEPS], all = (double)settings.files * world.ranks;
    for (size_t i = 0; settings.files && i < count; i++) {
        struct small_files files = {&run->target, settings.files,
                                    (uint64_t)settings.seed * 1000003U + run->passes++};
        small_files_time(&files, times);
        for (int step = 0; step < SMALL_STEPS; step++)
            run->steps[step][i] = all / slowest_s(run, times[step], NULL);
    }
    for (int step = 0; settings.files && world.rank == 0 && step < SMALL_STEPS; step++)
        report_metric(small_metrics[step], "1/s",
                      timing_summarise(run->steps[step], (int)count).median, NULL, 0,
                      run->steps[step], count);
}

/* What each node's ranks moved over the time of its slowest, over all points. */
static void report_nodes(const struct run *run) {
    double own[3] = {run->node_s[0], run->node_s[1], run->node_bytes};
    double *all = buffer_make(3 * (size_t)world.ranks, sizeof *all);
    MPI_Gather(own, 3, MPI_DOUBLE, all, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int node = 0; world.rank == 0 && node < run->hosts.count; node++) {
        const double *of = all + 3 * run->hosts.first[node];
        const struct report_position at[] = {{"node", run->hosts.names[node], 0}};
        report_value("storage_node_write_rate", "bytes/s", of[2] / of[0], at, 1);
        report_value("storage_node_read_rate", "bytes/s", of[2] / of[1], at, 1);
    }
    free(all);
}

static void measure(void *context) {
    struct run *run = context;
    for (size_t i = 0; i < run->sizes.count; i++)
        for (int layout = 0; layout < 2; layout++)
            for (int access = 0; access < 2; access++)
                if (settings.layouts >> layout & settings.accesses >> access & 1)
                    measure_point(run, run->sizes.bytes[i], layout, access);
    measure_small_files(run);
    report_nodes(run);
    target_leave(&run->target);
}

static void report(const void *context) {
    const struct run *run = context;
    report_note_text("payload_verified", "every byte of every transfer and small file");
    report_note_text("read_by", run->hosts.count > 1 && !settings.local
                                    ? "a rank of another node than wrote it"
                                : world.ranks > run->hosts.count ? "another rank of the node"
                                                                 : "the rank that wrote it");
    report_note_text("caches", run->target.caches);
    report_note_number("resident_share", run->resident);
}

int main(int argc, char **argv) {
    struct run run = {.passes = 0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
