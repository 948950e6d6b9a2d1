/* SPDX-License-Identifier: Apache-2.0 */
/* STREAM (J. D. McCalpin, Memory Bandwidth and Machine Balance in Current High Performance
 * Computers, IEEE TCCA Newsletter, December 1995): copy, scale, add, triad over arrays that are
 * greater than the caches; bytes as STREAM counts them (no write-allocate). */
#include "kernel.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SCALAR 3.0
#define ALIGNMENT 4096

struct stream {
    size_t count; /* elements of each array */
    double *a, *b, *c;
    int runs[4]; /* of each part */
};

FOR_EVERY_PROCESSOR static void copy(double *restrict c, const double *restrict a, size_t n) {
    for (size_t i = 0; i < n; i++)
        c[i] = a[i];
}

FOR_EVERY_PROCESSOR static void scale(double *restrict b, const double *restrict c, size_t n) {
    for (size_t i = 0; i < n; i++)
        b[i] = SCALAR * c[i];
}

FOR_EVERY_PROCESSOR static void add(double *restrict c, const double *restrict a,
                                    const double *restrict b, size_t n) {
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

FOR_EVERY_PROCESSOR static void triad(double *restrict a, const double *restrict b,
                                      const double *restrict c, size_t n) {
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + SCALAR * c[i];
}

static double *array(size_t count) {
    size_t bytes = (count * sizeof(double) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return aligned_alloc(ALIGNMENT, bytes);
}

static void release(void *state) {
    struct stream *stream = state;
    free(stream->a);
    free(stream->b);
    free(stream->c);
    free(stream);
}

static void *prepare(const struct node_settings *settings) {
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->count = (size_t)settings->stream_bytes / sizeof(double);
    stream->a = array(stream->count);
    stream->b = array(stream->count);
    stream->c = array(stream->count);
    if (!stream->a || !stream->b || !stream->c) {
        release(stream);
        return NULL;
    }
    for (size_t i = 0; i < stream->count; i++) {
        stream->a[i] = 1.0;
        stream->b[i] = 2.0;
        stream->c[i] = 0.0;
    }
    return stream;
}

static int parts(const void *state, struct part *parts) {
    static const char *const metrics[] = {"stream_copy", "stream_scale", "stream_add",
                                          "stream_triad"};
    static const int arrays[] = {2, 2, 3, 3};
    const struct stream *stream = state;
    for (int i = 0; i < 4; i++)
        parts[i] = (struct part){
            PART_RATE, metrics[i], "bytes/s",
            NULL,      NULL,       (double)arrays[i] * (double)stream->count * sizeof(double)};
    return 4;
}

static double run(void *state, int part) {
    struct stream *stream = state;
    if (part == 0)
        copy(stream->c, stream->a, stream->count);
    else if (part == 1)
        scale(stream->b, stream->c, stream->count);
    else if (part == 2)
        add(stream->c, stream->a, stream->b, stream->count);
    else
        triad(stream->a, stream->b, stream->c, stream->count);
    stream->runs[part]++;
    return 0;
}

/* The parts are run in turn, equally often, so that all elements of an array are equal and three
 * scalars predict them. They grow by a factor of 15 a turn, so restore() resets them before they
 * overflow. */
#define TURNS_TO_OVERFLOW 100

static void restore(void *state, int part) {
    struct stream *stream = state;
    if (part != 0 || stream->runs[0] == 0 || stream->runs[0] % TURNS_TO_OVERFLOW)
        return;
    for (size_t i = 0; i < stream->count; i++)
        stream->a[i] = 1.0;
}

static int verify(void *state, char *message, size_t size) {
    const struct stream *stream = state;
    double a = 1.0, b = 2.0, c = 0.0;
    for (int turn = 0; turn < stream->runs[0]; turn++) {
        if (turn > 0 && turn % TURNS_TO_OVERFLOW == 0)
            a = 1.0;
        c = a;
        b = SCALAR * c;
        c = a + b;
        a = b + SCALAR * c;
    }
    for (size_t i = 0; i < stream->count; i++) {
        double away = fmax(fabs(stream->a[i] / a - 1),
                           fmax(fabs(stream->b[i] / b - 1), fabs(stream->c[i] / c - 1)));
        if (!(away < 1e-13)) {
            snprintf(message, size,
                     "STREAM: element %zu is (%.17g, %.17g, %.17g), expected (%.17g, %.17g, %.17g)",
                     i, stream->a[i], stream->b[i], stream->c[i], a, b, c);
            return 0;
        }
    }
    return 1;
}

static void corrupt(void *state) {
    struct stream *stream = state;
    stream->b[stream->count / 2] *= 1 + 1e-9;
}

const struct kernel stream_kernel = {"stream", 0,   {0},    prepare, parts,
                                     restore,  run, verify, corrupt, release};
