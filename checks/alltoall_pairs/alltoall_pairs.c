/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* gethostname */
/* Latency and bandwidth of every pair of ranks, or of some, in rounds of disjoint pairs: all pairs
 * of a round at the same time, which loads the links, or one pair after the other while the other
 * ranks sleep. */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/pingpong.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/rest.h"
#include "assay/shuffle.h"
#include "assay/timing.h"
#include "assay/tournament.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "alltoall_pairs"
#define PURPOSE "ping-pong of every pair of ranks; JSON lines on standard output"
#define HOST_BYTES 256

static struct {
    long long latency_bytes, latency_iterations, bandwidth_bytes, bandwidth_iterations, warmup;
    long long seed;
    const char *only;
    int turns, inject_fault;
} settings = {8, 100, 1048576, 10, 2, 1, "", 0, 0};

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
    ARG_SEED(&settings.seed, "the order of the ranks in the rounds"),
    {"only", ARG_TEXT, &settings.only, 0, 0, NULL,
     "these pairs of hosts, as n1:n2, joined by commas (default: all)"},
    {"turns", ARG_FLAG, &settings.turns, 0, 0, NULL,
     "one pair after the other, the other ranks asleep"},
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt a byte of each reply"),
};
#define OPTIONS (sizeof options / sizeof *options)

struct pair_times {
    double latency_s, bandwidth_s; /* median half round trips */
};

struct run {
    size_t *order, *place; /* order[player] is a rank, place[rank] its player */
    unsigned char *outgoing, *incoming;
    double *samples;
    char (*hosts)[HOST_BYTES]; /* of every rank */
    unsigned char *wanted;     /* a bit for each two ranks; NULL: every pair is */
    struct pair_times *times;  /* rank 0: of every rank's pair in the round */
};

static size_t greater(long long a, long long b) { return (size_t)(a > b ? a : b); }

static int rank_of(const struct run *run, const char *host, size_t length) {
    for (int rank = 0; rank < world.ranks; rank++)
        if (strlen(run->hosts[rank]) == length && !memcmp(run->hosts[rank], host, length))
            return rank;
    return -1;
}

static size_t bit_of(int one, int other) {
    return (size_t)one * (size_t)world.ranks + (size_t)other;
}

static int is_wanted(const struct run *run, int one, int other) {
    size_t bit = bit_of(one, other);
    return !run->wanted || (run->wanted[bit / 8] >> bit % 8 & 1);
}

/* Read the list of pairs, the same on all ranks. */
static void choose_pairs(struct run *run) {
    size_t ranks = (size_t)world.ranks;
    run->wanted = buffer_make(ranks * ranks / 8 + 1, 1);
    for (const char *pair = settings.only; *pair;) {
        size_t length = strcspn(pair, ","), first = strcspn(pair, ":,");
        int one = rank_of(run, pair, first);
        int other = first < length ? rank_of(run, pair + first + 1, length - first - 1) : -1;
        fail_all(one < 0 || other < 0 || one == other, PROGRAM,
                 "option --only: found %.*s, allowed are two hosts of this launch as n1:n2",
                 (int)length, pair);
        size_t bits[] = {bit_of(one, other), bit_of(other, one)};
        for (int i = 0; i < 2; i++)
            run->wanted[bits[i] / 8] |= (unsigned char)(1 << bits[i] % 8);
        pair += length + (pair[length] == ',');
    }
}

static void prepare(void *context) {
    struct run *run = context;
    fail_all(world.ranks < 2, PROGRAM, "found %d ranks, allowed are at least 2", world.ranks);
    char host[HOST_BYTES] = "";
    size_t ranks = (size_t)world.ranks;
    size_t greatest = greater(settings.latency_bytes, settings.bandwidth_bytes);
    run->outgoing = buffer_make(greatest, 1);
    run->incoming = buffer_make(greatest, 1);
    run->samples = buffer_make(greater(settings.latency_iterations, settings.bandwidth_iterations),
                               sizeof *run->samples);
    run->order = buffer_make(ranks, sizeof *run->order);
    run->place = buffer_make(ranks, sizeof *run->place);
    run->hosts = buffer_make(ranks, sizeof *run->hosts);
    run->times = buffer_make(ranks, sizeof *run->times);
    shuffle(run->order, ranks, (uint64_t)settings.seed);
    for (size_t player = 0; player < ranks; player++)
        run->place[run->order[player]] = player;
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    MPI_Allgather(host, HOST_BYTES, MPI_CHAR, run->hosts, HOST_BYTES, MPI_CHAR, MPI_COMM_WORLD);
    if (*settings.only)
        choose_pairs(run);
}

/* The partner of `rank` in the round, or -1. */
static int partner_of(const struct run *run, int round, int rank) {
    int player = tournament_partner(world.ranks, round, (int)run->place[rank]);
    int partner = player < 0 ? -1 : (int)run->order[player];
    return partner >= 0 && is_wanted(run, rank, partner) ? partner : -1;
}

/* Median half round trip, s, valid on the first rank of the pair. Collective over the pair. */
static double half_round_trip(struct run *run, MPI_Comm pair, long long bytes, long long times) {
    struct pingpong pingpong = {.construct = &constructs[0],
                                .comm = pair,
                                .bytes = (int)bytes,
                                .outgoing = run->outgoing,
                                .incoming = run->incoming,
                                .inject_fault = settings.inject_fault};
    struct timing_plan plan = {(int)settings.warmup, (int)times, TIMING_RANK0};
    MPI_Comm_rank(pair, &pingpong.rank);
    pingpong_verify(&pingpong, (uint64_t)settings.seed);
    timing_run(&world.timer, &plan, pair, pingpong_round_trip, &pingpong, run->samples);
    return 0.5 * timing_summarise(run->samples, (int)times).median;
}

static struct pair_times measure_pair(struct run *run, MPI_Comm pair) {
    struct pair_times times;
    times.latency_s =
        half_round_trip(run, pair, settings.latency_bytes, settings.latency_iterations);
    times.bandwidth_s =
        half_round_trip(run, pair, settings.bandwidth_bytes, settings.bandwidth_iterations);
    return times;
}

/* Measure this rank's pair: all pairs at the same time, or in the order of their lower ranks.
 * Collective over all ranks. */
static struct pair_times take_round(struct run *run, int round, int partner, MPI_Comm pair) {
    struct pair_times times = {0, 0};
    if (!settings.turns && partner >= 0)
        times = measure_pair(run, pair);
    for (int lower = 0; settings.turns && lower < world.ranks; lower++) {
        if (partner_of(run, round, lower) < lower)
            continue; /* alone, or the higher rank of its pair */
        if (partner >= 0 && (world.rank == lower || partner == lower))
            times = measure_pair(run, pair);
        rest_until_all(MPI_COMM_WORLD);
    }
    return times;
}

static void measure(void *context) {
    struct run *run = context;
    for (int round = 0; round < tournament_rounds(world.ranks); round++) {
        MPI_Comm pair;
        int partner = partner_of(run, round, world.rank);
        int lower = partner < world.rank ? partner : world.rank;
        MPI_Comm_split(MPI_COMM_WORLD, partner < 0 ? MPI_UNDEFINED : lower, world.rank, &pair);
        rest_until_all(MPI_COMM_WORLD);
        struct pair_times times = take_round(run, round, partner, pair);
        rest_until_all(MPI_COMM_WORLD);
        MPI_Gather(&times, 2, MPI_DOUBLE, run->times, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (int rank = 0; world.rank == 0 && rank < world.ranks; rank++) {
            int peer = partner_of(run, round, rank);
            if (peer < rank)
                continue;
            double bandwidth = (double)settings.bandwidth_bytes / run->times[rank].bandwidth_s;
            struct report_position at[] = {{"node", run->hosts[rank], 0},
                                           {"peer", run->hosts[peer], 0}};
            report_value("pair_latency", "s", run->times[rank].latency_s, at, 2);
            report_value("pair_bandwidth", "bytes/s", bandwidth, at, 2);
        }
        if (pair != MPI_COMM_NULL)
            MPI_Comm_free(&pair);
    }
}

static void report(const void *context) {
    (void)context;
    report_note_integer("rounds", tournament_rounds(world.ranks));
    report_note_text("payload_verified", "every reply, and every byte once a pair and size");
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
