/* SPDX-License-Identifier: Apache-2.0 */
/* What single nodes can do: memory bandwidth, floating-point rates, times of operations, synthetic
 * benchmarks and memory, on every node of a launch, the nodes in turn or all at once. */
#include "assay/args.h"
#include "assay/fail.h"
#include "assay/json.h"
#include "assay/report.h"
#include "assay/timing.h"
#include "measure.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "node"
#define PURPOSE "what every node of the launch can do; JSON lines on standard output"
#define TAG_RESULT 23

static const struct kernel *const kernels[] = {
    &stream_kernel,       &dgemm_kernel,      &hpl_kernel,   &linpack_100_kernel,
    &linpack_1000_kernel, &arithmetic_kernel, &sieve_kernel, &floatmath_kernel,
    &dhrystone_kernel,    &whetstone_kernel,  &memory_kernel};
#define KERNELS (sizeof kernels / sizeof *kernels)

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
     "comma list of what to measure, or all (default)"},
    {"stream-bytes", ARG_INTEGER, &settings.stream_bytes, 8192, 1e13, NULL,
     "bytes of each of STREAM's three arrays, a rank; above the caches' (default 33554432)"},
    {"dgemm-n", ARG_INTEGER, &settings.dgemm_n, 16, 1e6, NULL,
     "order of the matrices of DGEMM (default 512)"},
    {"hpl-n", ARG_INTEGER, &settings.hpl_n, 16, 1e6, NULL,
     "order of the linear system of hpl (default 1000)"},
    {"memory-bytes", ARG_INTEGER, &settings.memory_bytes, 1048576, 1e15, NULL,
     "greatest memory to allocate, a node (default 268435456)"},
    {"repetitions", ARG_INTEGER, &settings.repetitions, 1, 10000, NULL,
     "samples of each quantity (default 5)"},
    ARG_SEED(&settings.seed, "the matrices"),
    {"turns", ARG_FLAG, &settings.turns, 0, 0, NULL,
     "the nodes measure one after the other (default: all at once)"},
    {"inject-fault", ARG_FLAG, &settings.inject_fault, 0, 0, NULL,
     "damage each result before it is verified: the run must end with an error"},
};
#define OPTIONS (sizeof options / sizeof *options)

static struct node_settings own_settings(const struct turns *turns) {
    return (struct node_settings){settings.stream_bytes,
                                  settings.dgemm_n,
                                  settings.hpl_n,
                                  settings.memory_bytes,
                                  turns->on_node,
                                  (int)settings.repetitions,
                                  (uint64_t)settings.seed * 1000003U + (uint64_t)turns->rank};
}

static void report_part(const char *host, const struct part *part, const double *samples) {
    int count = (int)settings.repetitions;
    struct timing_summary summary = timing_summarise(samples, count);
    const struct report_position at[] = {
        {"node", host, 0}, {"operand", part->operand, 0}, {"operation", part->operation, 0}};
    report_metric_at(part->metric, part->unit, summary.median, at, part->operand ? 3 : 1, samples,
                     (size_t)count);
}

static void report_instructions(const char *host, const char *kernel, double count) {
    struct json note;
    if (count <= 0)
        return;
    json_begin(&note);
    json_string(&note, "node", host);
    json_string(&note, "kernel", kernel);
    json_number(&note, "instructions_per_work", count);
    report_note_object("counted_instructions", &note);
}

static void report_kernel(const char *host, size_t kernel, const struct measured *measured) {
    for (int i = 0; i < measured->count; i++)
        report_part(host, &measured->parts[i], measured->samples + i * settings.repetitions);
    report_instructions(host, kernels[kernel]->name, measured->instructions_per_work);
}

/* Rank 0 gets and prints what the node whose first rank is source measured; the parts are the same
 * everywhere, so it takes them from its own. */
static void receive_node(int source, struct measured *own) {
    char host[HOST_BYTES];
    MPI_Status status;
    turns_sleep_until(source, TAG_RESULT);
    MPI_Recv(host, HOST_BYTES, MPI_CHAR, source, TAG_RESULT, MPI_COMM_WORLD, &status);
    for (size_t i = 0; i < KERNELS; i++) {
        if (!(settings.kernels >> i & 1))
            continue;
        int count = own[i].count * (int)settings.repetitions;
        MPI_Recv(own[i].samples, count, MPI_DOUBLE, source, TAG_RESULT, MPI_COMM_WORLD, &status);
        MPI_Recv(&own[i].instructions_per_work, 1, MPI_DOUBLE, source, TAG_RESULT, MPI_COMM_WORLD,
                 &status);
        report_kernel(host, i, &own[i]);
    }
}

static void send_node(const struct turns *turns, struct measured *own) {
    char host[HOST_BYTES];
    memcpy(host, turns->host, HOST_BYTES);
    MPI_Send(host, HOST_BYTES, MPI_CHAR, 0, TAG_RESULT, MPI_COMM_WORLD);
    for (size_t i = 0; i < KERNELS; i++) {
        if (!(settings.kernels >> i & 1))
            continue;
        MPI_Send(own[i].samples, own[i].count * (int)settings.repetitions, MPI_DOUBLE, 0,
                 TAG_RESULT, MPI_COMM_WORLD);
        MPI_Send(&own[i].instructions_per_work, 1, MPI_DOUBLE, 0, TAG_RESULT, MPI_COMM_WORLD);
    }
}

/* Every node's first rank hands its results to rank 0, which prints them all. Collective. */
static void report_nodes(const struct turns *turns, struct measured *own) {
    if (turns->rank != 0) {
        if (turns->rank_on_node == 0)
            send_node(turns, own);
        return;
    }
    for (size_t i = 0; i < KERNELS; i++)
        if (settings.kernels >> i & 1)
            report_kernel(turns->host, i, &own[i]);
    for (int rank = 1; rank < turns->ranks; rank++)
        if (turns->first[rank] == rank)
            receive_node(rank, own);
}

int main(int argc, char **argv) {
    struct measured measured[KERNELS] = {{.count = 0}};
    MPI_Init(&argc, &argv);
    args_read(PROGRAM, PURPOSE, options, OPTIONS, argc, argv);
    struct turns turns = turns_begin(settings.turns);
    struct node_settings own = own_settings(&turns);
    struct timer timer = timing_choose();
    if (turns.rank == 0)
        report_program(PROGRAM, options, OPTIONS);
    turns_wait(&turns);
    for (size_t i = 0; i < KERNELS; i++)
        if (settings.kernels >> i & 1)
            measured[i] = measure(kernels[i], &own, &turns, &timer, settings.inject_fault);
    turns_pass(&turns);
    report_nodes(&turns, measured);
    turns_end(&turns);
    if (turns.rank == 0) {
        report_timer(&timer);
        report_note_text("results_verified", "every kernel on every rank");
        report_end(PROGRAM, 1);
    }
    for (size_t i = 0; i < KERNELS; i++)
        measured_free(&measured[i]);
    MPI_Finalize();
    return 0;
}
