/* SPDX-License-Identifier: Apache-2.0 */
/* A message around a ring of all ranks, turn after turn (T. H. Dunigan, ORNL/TM-10881, 1988, table
 * 6: 100 turns of a Gray-code ring of 64 nodes). */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/payload.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/shuffle.h"
#include "assay/sizes.h"
#include "assay/timing.h"

#include <mpi.h>

#define PROGRAM "ring"
#define PURPOSE "a message around a ring of all ranks; JSON lines on standard output"
#define TAG 5
#define ORDERS 3

enum order { NATURAL, GRAY, RANDOM };
static const char *const order_names[ORDERS + 1] = {"natural", "gray", "random", NULL};

static struct {
    unsigned long orders;
    const char *sizes;
    long long turns, warmup, seed;
    int inject_fault;
} settings = {1UL << NATURAL, "log:8:8192:1", 100, 2, 1, 0};

static const struct arg options[] = {
    {"orders", ARG_CHOICES, &settings.orders, 0, 0, order_names,
     "comma list of natural, gray (ranks a power of two) and random (default natural)"},
    ARG_SIZES(&settings.sizes),
    {"turns", ARG_INTEGER, &settings.turns, 1, 1000000, NULL,
     "turns around the ring for each order and size (default 100)"},
    ARG_WARMUP(&settings.warmup, "turns before them, excluded (default 2)"),
    ARG_SEED(&settings.seed, "the random order and of the order of points"),
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt a byte on the way"),
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct sizes sizes;
    size_t *ring;                     /* ring[position] is a rank; rank 0 is at position 0 */
    int position, previous, next;     /* of this rank in the ring */
    int bytes;                        /* message length */
    uint64_t counter;                 /* of the next message that rank 0 sends */
    unsigned char *message, *pattern; /* touched */
    double *samples;                  /* one a turn */
};

static void prepare(void *context) {
    struct run *run = context;
    fail_all((settings.orders >> GRAY & 1) && (world.ranks & (world.ranks - 1)) != 0, PROGRAM,
             "option --orders: found gray with %d ranks, allowed are powers of two", world.ranks);
    sizes_read(&run->sizes, settings.sizes, PROGRAM);
    size_t greatest = (size_t)run->sizes.bytes[run->sizes.count - 1];
    run->message = buffer_make(greatest, 1);
    run->pattern = buffer_make(greatest, 1);
    run->ring = buffer_make((size_t)world.ranks, sizeof *run->ring);
    run->samples = buffer_make((size_t)settings.turns, sizeof *run->samples);
}

static void order_ring(struct run *run, enum order order) {
    size_t ranks = (size_t)world.ranks, first = 0;
    if (order == RANDOM) {
        shuffle(run->ring, ranks, (uint64_t)settings.seed);
        while (run->ring[first] != 0)
            first++;
        run->ring[first] = run->ring[0];
        run->ring[0] = 0; /* rank 0 starts the message and times it, so it is first */
    }
    for (size_t i = 0; order != RANDOM && i < ranks; i++)
        run->ring[i] = order == GRAY ? i ^ (i >> 1) : i; /* neighbours differ in one bit */
    for (size_t i = 0; i < ranks; i++)
        if ((int)run->ring[i] == world.rank)
            run->position = (int)i;
    run->previous = (int)run->ring[(run->position + world.ranks - 1) % world.ranks];
    run->next = (int)run->ring[(run->position + 1) % world.ranks];
}

static void start_and_await(struct run *run, unsigned char *incoming) {
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(incoming, run->bytes, MPI_BYTE, run->previous, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(run->message, run->bytes, MPI_BYTE, run->next, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
}

static void receive(struct run *run) {
    MPI_Status status;
    MPI_Recv(run->message, run->bytes, MPI_BYTE, run->previous, TAG, MPI_COMM_WORLD, &status);
}

static void judge(const struct run *run, unsigned char *message, uint64_t counter) {
    if (settings.inject_fault && run->bytes > 0)
        message[0] ^= 1;
    fail_answer(!payload_carries(message, (size_t)run->bytes, counter), __func__,
                "the message of %d bytes at position %d is not the one sent", run->bytes,
                run->position);
}

/* One turn. Collective over all ranks. Each position adds one to the counter in the message, so
 * that a message that skipped a rank returns with a wrong number. */
static void turn(void *context) {
    struct run *run = context;
    size_t bytes = (size_t)run->bytes;
    uint64_t here = run->counter + (uint64_t)run->position;
    if (run->position == 0) {
        payload_put(run->message, bytes, run->counter);
        start_and_await(run, run->pattern);
        judge(run, run->pattern, run->counter + (uint64_t)world.ranks - 1);
    } else {
        receive(run);
        judge(run, run->message, here - 1);
        payload_put(run->message, bytes, here);
        MPI_Send(run->message, run->bytes, MPI_BYTE, run->next, TAG, MPI_COMM_WORLD);
    }
    run->counter += (uint64_t)world.ranks;
}

static void verify_pattern(const struct run *run, const unsigned char *message, uint64_t seed) {
    size_t bytes = (size_t)run->bytes, at = payload_pattern_error(message, bytes, seed, 0);
    fail_answer(at < bytes, __func__, "byte %zu of %zu is not what was sent (position %d)", at,
                bytes, run->position);
}

/* One untimed turn of a full pattern, every byte verified at every position. Collective over all
 * ranks. */
static void verify(struct run *run, uint64_t seed) {
    if (run->position == 0) {
        payload_pattern(run->message, (size_t)run->bytes, seed);
        start_and_await(run, run->pattern);
        verify_pattern(run, run->pattern, seed);
        return;
    }
    receive(run);
    verify_pattern(run, run->message, seed);
    MPI_Send(run->message, run->bytes, MPI_BYTE, run->next, TAG, MPI_COMM_WORLD);
}

static void measure_point(void *context, size_t point) {
    struct run *run = context;
    struct timing_plan plan = {(int)settings.warmup, (int)settings.turns, TIMING_RANK0};
    enum order order = (enum order)(point / run->sizes.count);
    if (!(settings.orders >> order & 1))
        return;
    order_ring(run, order);
    run->bytes = (int)run->sizes.bytes[point % run->sizes.count];
    run->counter = (uint64_t)point << 32;
    verify(run, (uint64_t)settings.seed + point);
    timing_run(&world.timer, &plan, MPI_COMM_WORLD, turn, run, run->samples);
    if (world.rank != 0)
        return;
    struct report_position at[] = {{"order", order_names[order], 0},
                                   {"message_bytes", NULL, run->bytes}};
    double total_s = 0, moved = (double)world.ranks * (double)settings.turns * run->bytes;
    for (long long i = 0; i < settings.turns; i++)
        total_s += run->samples[i];
    double median_s = timing_summarise(run->samples, (int)settings.turns).median;
    report_metric("ring_turn", "s", median_s, at, 2, run->samples, (size_t)settings.turns);
    report_value("ring_time", "s", total_s, at, 2);
    if (run->bytes > 0)
        report_value("ring_rate", "bytes/s", moved / total_s, at, 2);
}

static void measure(void *context) {
    struct run *run = context;
    shuffled_each(ORDERS * run->sizes.count, (uint64_t)settings.seed, measure_point, run);
}

static void report(const void *context) {
    (void)context;
    report_note_text("payload_verified",
                     "at every position in every turn, and every byte once a point");
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
