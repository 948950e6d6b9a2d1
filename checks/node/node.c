/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmarks of single nodes: memory bandwidth, floating-point rates, times of operations,
 * synthetic benchmarks and memory, on every node of a launch, one node after the other or all at
 * once. */
#include "assay/args.h"
#include "assay/fail.h"
#include "assay/json.h"
#include "assay/report.h"
#include "assay/rest.h"
#include "assay/timing.h"
#include "measure.h"

#include <mpi.h>

#define PROGRAM "node"
#define PURPOSE "benchmarks of every node of the launch; JSON lines on standard output"
#define TAG_RESULT 23

static const char *const kernel_names[] = {"stream",       "dgemm",      "hpl",    "linpack_100",
                                           "linpack_1000", "arithmetic", "sieve",  "floatmath",
                                           "dhrystone",    "whetstone",  "memory", NULL};

static struct {
    unsigned long kernels;
    long long stream_bytes, dgemm_n, hpl_n, memory_bytes, repetitions, seed;
    int turns, inject_fault;
} settings = {(1UL << KERNELS) - 1, 33554432, 512, 1000, 268435456, 5, 1, 0, 0};

static const struct arg options[] = {
    {"kernels", ARG_CHOICES, &settings.kernels, 0, 0, kernel_names,
     "comma list of kernels, or all (default)"},
    {"stream-bytes", ARG_INTEGER, &settings.stream_bytes, 8192, 1e13, NULL,
     "bytes of each of STREAM's three arrays, on each rank; above the caches (default 33554432)"},
    {"dgemm-n", ARG_INTEGER, &settings.dgemm_n, 16, 1e6, NULL,
     "order of the matrices of DGEMM (default 512)"},
    {"hpl-n", ARG_INTEGER, &settings.hpl_n, 16, 1e6, NULL,
     "order of the linear system of hpl (default 1000)"},
    {"memory-bytes", ARG_INTEGER, &settings.memory_bytes, 0, 1e15, NULL,
     "most memory to allocate on each node (default 268435456); 0: all that the node gives"},
    {"repetitions", ARG_INTEGER, &settings.repetitions, 1, 10000, NULL,
     "samples of each quantity (default 5)"},
    ARG_SEED(&settings.seed, "the matrices"),
    {"turns", ARG_FLAG, &settings.turns, 0, 0, NULL,
     "measure one node after the other (default: all at once)"},
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt each result"),
};
#define OPTIONS (sizeof options / sizeof *options)

static void report_of_kernel(const char *key, const char *host, size_t kernel, const char *name,
                             double value) {
    struct json note;
    json_begin(&note);
    json_string(&note, "node", host);
    json_string(&note, "kernel", kernels[kernel]->name);
    json_number(&note, name, value);
    report_note_object(key, &note);
}

static void report_kernel(const char *host, size_t kernel, const struct measured *measured) {
    int count = (int)settings.repetitions;
    for (int i = 0; i < measured->count; i++) {
        const struct part *part = &measured->parts[i];
        const double *samples = measured->samples + i * count;
        const struct report_position at[] = {
            {"node", host, 0}, {"operand", part->operand, 0}, {"operation", part->operation, 0}};
        report_metric(part->metric, part->unit, timing_summarise(samples, count).median, at,
                      part->operand ? 3 : 1, samples, (size_t)count);
    }
    if (measured->others >= 0)
        report_of_kernel("others", host, kernel, "share", measured->others);
    if (measured->instructions_per_work > 0)
        report_of_kernel("counted_instructions", host, kernel, "instructions_per_work",
                         measured->instructions_per_work);
}

/* The first rank of a node sends its results to rank 0. */
static void send_node(struct measured *own) {
    for (size_t i = 0; i < KERNELS; i++) {
        if (!(settings.kernels >> i & 1))
            continue;
        MPI_Send(own[i].samples, own[i].count * (int)settings.repetitions, MPI_DOUBLE, 0,
                 TAG_RESULT, MPI_COMM_WORLD);
        MPI_Send(&own[i].instructions_per_work, 1, MPI_DOUBLE, 0, TAG_RESULT, MPI_COMM_WORLD);
        MPI_Send(&own[i].others, 1, MPI_DOUBLE, 0, TAG_RESULT, MPI_COMM_WORLD);
    }
}

/* Rank 0 prints the results of every node, its own first; those of others overwrite its own, whose
 * parts are the same. */
static void report_nodes(const struct turns *turns, struct measured *own) {
    for (int node = 0; node < turns->hosts.count; node++) {
        MPI_Status status;
        int source = turns->hosts.first[node];
        if (source > 0)
            rest_until_message(source, TAG_RESULT, MPI_COMM_WORLD, TURNS_NAP_S);
        for (size_t i = 0; i < KERNELS; i++) {
            if (!(settings.kernels >> i & 1))
                continue;
            if (source > 0) {
                MPI_Recv(own[i].samples, own[i].count * (int)settings.repetitions, MPI_DOUBLE,
                         source, TAG_RESULT, MPI_COMM_WORLD, &status);
                MPI_Recv(&own[i].instructions_per_work, 1, MPI_DOUBLE, source, TAG_RESULT,
                         MPI_COMM_WORLD, &status);
                MPI_Recv(&own[i].others, 1, MPI_DOUBLE, source, TAG_RESULT, MPI_COMM_WORLD,
                         &status);
            }
            report_kernel(turns->hosts.names[node], i, &own[i]);
        }
    }
}

int main(int argc, char **argv) {
    struct measured measured[KERNELS] = {{.count = 0}};
    MPI_Init(&argc, &argv);
    args_read(PROGRAM, PURPOSE, options, OPTIONS, argc, argv);
    struct turns turns = turns_begin(settings.turns);
    const struct node_settings own = {settings.stream_bytes,
                                      settings.dgemm_n,
                                      settings.hpl_n,
                                      settings.memory_bytes,
                                      turns.on_node,
                                      (int)settings.repetitions,
                                      (uint64_t)settings.seed * 1000003U + (uint64_t)turns.rank};
    struct timer timer = timing_choose();
    if (turns.rank == 0)
        report_program(PROGRAM, options, OPTIONS);
    turns_wait(&turns);
    for (size_t i = 0; i < KERNELS; i++)
        if (settings.kernels >> i & 1)
            measured[i] = measure(kernels[i], &own, &turns, &timer, settings.inject_fault);
    turns_pass(&turns);
    if (turns.rank == 0)
        report_nodes(&turns, measured);
    else if (turns.rank_on_node == 0)
        send_node(measured);
    turns_end(&turns);
    if (turns.rank == 0) {
        report_timer(&timer);
        report_note_text("results_verified", "every kernel on every rank");
        report_end(PROGRAM, 1);
    }
    MPI_Finalize();
    return 0;
}
