/* SPDX-License-Identifier: Apache-2.0 */
/* Latency and bandwidth of every pair of nodes, or of some, in rounds of disjoint pairs: all pairs
 * of a round at the same time, which loads the links, or one pair after the other while the other
 * ranks sleep. Of a list of pairs those beside them in a round load the links too, unreported.
 * Several ranks on each node send side by side; their rates are added. */
#include "assay/args.h"
#include "assay/barrier.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/json.h"
#include "assay/pingpong.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/rest.h"
#include "assay/timing.h"
#include "pair_file.h"
#include "pairs.h"

#include <mpi.h>
#include <stdlib.h>

#define PROGRAM "alltoall_pairs"
#define PURPOSE "ping-pong of every pair of nodes; JSON lines on standard output"

static struct {
    long long latency_bytes, latency_iterations, bandwidth_bytes, bandwidth_iterations, warmup;
    long long seed, rounds;
    const char *only, *file;
    int turns, inject_fault;
} settings = {8, 100, 1048576, 10, 2, 1, 0, "", "", 0, 0};

static const struct arg options[] = {
    {"latency-bytes", ARG_INTEGER, &settings.latency_bytes, 0, 1 << 30, NULL,
     "message length for the latency, bytes (default 8)"},
    {"latency-iterations", ARG_INTEGER, &settings.latency_iterations, 1, 1000000, NULL,
     "round trips of each pair for the latency (default 100)"},
    {"bandwidth-bytes", ARG_INTEGER, &settings.bandwidth_bytes, 1, 1 << 30, NULL,
     "message length for the bandwidth, bytes (default 1048576)"},
    {"bandwidth-iterations", ARG_INTEGER, &settings.bandwidth_iterations, 1, 1000000, NULL,
     "round trips of each pair for the bandwidth (default 10)"},
    ARG_WARMUP(&settings.warmup, "round trips before them, excluded (default 2)"),
    ARG_SEED(&settings.seed, "the order of the nodes in the rounds"),
    {"rounds", ARG_INTEGER, &settings.rounds, 0, 1000000, NULL,
     "so many rounds, in each of which a node has one partner (default 0: all)"},
    {"only", ARG_TEXT, &settings.only, 0, 0, NULL,
     "these pairs of hosts, as n1:n2, joined by commas; those of absent hosts are left out"
     " (default: all)"},
    {"file", ARG_TEXT, &settings.file, 0, 0, NULL,
     "write the values into this file instead of lines (default: lines)"},
    {"turns", ARG_FLAG, &settings.turns, 0, 0, NULL,
     "one pair after the other, the other ranks asleep"},
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt a byte of each reply"),
};
#define OPTIONS (sizeof options / sizeof *options)

struct pair_times {
    double latency_s, bandwidth_s; /* median half round trips */
};

struct run {
    struct pairs pairs;
    MPI_Comm side; /* the ranks of this node */
    unsigned char *outgoing, *incoming;
    double *samples;
    struct pair_times *times; /* rank 0: of every rank's pair in the round */
    struct pair_file *file;   /* rank 0, with --file */
    struct pair_file_sum written;
};

/* The communicators of a pair of nodes: all its ranks, the lower node's first; and of this rank and
 * the one of its number on the other node. */
struct link {
    MPI_Comm all, lane;
};

static size_t greater(long long a, long long b) { return (size_t)(a > b ? a : b); }

static void prepare(void *context) {
    struct run *run = context;
    pairs_choose(&run->pairs, (uint64_t)settings.seed, settings.rounds, settings.only);
    size_t greatest = greater(settings.latency_bytes, settings.bandwidth_bytes);
    run->outgoing = buffer_make(greatest, 1);
    run->incoming = buffer_make(greatest, 1);
    run->samples = buffer_make(greater(settings.latency_iterations, settings.bandwidth_iterations),
                               sizeof *run->samples);
    run->times = buffer_make(world.rank == 0 ? (size_t)world.ranks : 1, sizeof *run->times);
    MPI_Comm_split(MPI_COMM_WORLD, run->pairs.node, world.rank, &run->side);
    if (world.rank == 0 && *settings.file)
        run->file = pair_file_open(settings.file, run->pairs.nodes, run->pairs.hosts.names);
}

/* Median half round trip of the messages of all lanes or of this one, s, valid on the first rank of
 * comm. Without turns every pair begins at the same time. Collective over comm; without turns over
 * all ranks, of which some have no comm. */
static double half_round_trip(struct run *run, const struct link *link, MPI_Comm comm,
                              long long bytes, long long times) {
    int takes_part = comm != MPI_COMM_NULL, together = comm != link->lane;
    struct pingpong pingpong = {.construct = &constructs[0],
                                .comm = link->lane,
                                .side = together ? &run->side : NULL,
                                .bytes = (int)bytes,
                                .outgoing = run->outgoing,
                                .incoming = run->incoming,
                                .inject_fault = settings.inject_fault};
    struct timing_plan plan = {(int)settings.warmup, (int)times,
                               together ? TIMING_MAXIMUM : TIMING_RANK0};
    if (takes_part) {
        MPI_Comm_rank(link->lane, &pingpong.rank);
        pingpong_verify(&pingpong, (uint64_t)settings.seed);
    }
    if (!settings.turns)
        barrier_disseminate(MPI_COMM_WORLD);
    if (!takes_part)
        return 0;
    timing_run(&world.timer, &plan, comm, pingpong_round_trip, &pingpong, run->samples);
    return 0.5 * timing_summarise(run->samples, (int)times).median;
}

/* The latency is that of the first ranks of both nodes, the others wait; messages of the bandwidth
 * go between all ranks at the same time, one way at a time. Collective over the pair; without turns
 * over all ranks, of which some are in no pair, and no pair goes on until the latency of all is
 * known. */
static struct pair_times measure_pair(struct run *run, const struct link *link) {
    struct pair_times times = {0, 0};
    int first = run->pairs.rank_on_node == 0, several = run->pairs.on_node > 1;
    if (first || !settings.turns)
        times.latency_s = half_round_trip(run, link, first ? link->lane : MPI_COMM_NULL,
                                          settings.latency_bytes, settings.latency_iterations);
    if (several || !settings.turns)
        rest_until_all(settings.turns ? link->all : MPI_COMM_WORLD);
    times.bandwidth_s = half_round_trip(run, link, several ? link->all : link->lane,
                                        settings.bandwidth_bytes, settings.bandwidth_iterations);
    return times;
}

/* Measure this node's pair: all pairs at the same time, or in the order of their lower nodes.
 * Collective over all ranks. */
static struct pair_times take_round(struct run *run, int round, int partner,
                                    const struct link *link) {
    struct pair_times times = {0, 0};
    int own = run->pairs.node;
    if (!settings.turns)
        return measure_pair(run, link);
    for (int lower = 0; lower < run->pairs.nodes; lower++) {
        if (pairs_partner(&run->pairs, round, lower) < lower)
            continue; /* alone, or the higher node of its pair */
        if (partner >= 0 && (own == lower || partner == lower))
            times = measure_pair(run, link);
        rest_until_all(MPI_COMM_WORLD);
    }
    return times;
}

static void report_pair(const struct run *run, int node, int peer) {
    const struct hosts *hosts = &run->pairs.hosts;
    const struct pair_times *times = &run->times[hosts->first[node]];
    double bytes = (double)settings.bandwidth_bytes * run->pairs.on_node;
    if (run->file) {
        pair_file_add(run->file, node, peer, times->latency_s, bytes / times->bandwidth_s);
        return;
    }
    struct report_position at[] = {{"node", hosts->names[node], 0},
                                   {"peer", hosts->names[peer], 0}};
    report_value("pair_latency", "s", times->latency_s, at, 2);
    report_value("pair_bandwidth", "bytes/s", bytes / times->bandwidth_s, at, 2);
}

static struct link link_make(const struct run *run, int partner) {
    struct link link = {MPI_COMM_NULL, MPI_COMM_NULL};
    const struct pairs *pairs = &run->pairs;
    int lower = partner < pairs->node ? partner : pairs->node;
    int key = pairs->rank_on_node + (pairs->node == lower ? 0 : pairs->on_node);
    MPI_Comm_split(MPI_COMM_WORLD, partner < 0 ? MPI_UNDEFINED : lower, key, &link.all);
    if (partner >= 0 && pairs->on_node > 1)
        MPI_Comm_split(link.all, pairs->rank_on_node, key, &link.lane);
    else
        link.lane = link.all;
    return link;
}

static void link_free(struct link *link) {
    if (link->lane != link->all)
        MPI_Comm_free(&link->lane);
    if (link->all != MPI_COMM_NULL)
        MPI_Comm_free(&link->all);
}

static void report_round(const struct run *run, int round) {
    for (int node = 0; node < run->pairs.nodes; node++) {
        int peer = pairs_partner(&run->pairs, round, node);
        if (peer > node)
            report_pair(run, node, peer);
    }
}

static void measure(void *context) {
    struct run *run = context;
    int (*partner_of)(const struct pairs *, int, int) = settings.turns ? pairs_partner : pairs_met;
    for (int round = 0; round < run->pairs.rounds; round++) {
        int partner = partner_of(&run->pairs, round, run->pairs.node);
        struct link link = link_make(run, partner);
        rest_until_all(MPI_COMM_WORLD);
        struct pair_times times = take_round(run, round, partner, &link);
        rest_until_all(MPI_COMM_WORLD);
        MPI_Gather(&times, 2, MPI_DOUBLE, run->times, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (world.rank == 0)
            report_round(run, round);
        link_free(&link);
    }
    if (run->file)
        run->written = pair_file_close(run->file);
}

static void report(const void *context) {
    const struct run *run = context;
    report_note_integer("rounds", run->pairs.rounds);
    report_note_text("payload_verified", "every reply, and every byte once a pair and size");
    if (run->file) {
        struct json note;
        json_begin(&note);
        json_integer(&note, "rows", (long long)run->written.rows);
        json_integer(&note, "crc32", (long long)run->written.crc);
        report_note_object("pair_file", &note);
    }
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
