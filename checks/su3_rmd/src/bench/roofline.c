/* SPDX-License-Identifier: Apache-2.0 */
/* The two limits of a core, for comparison with the kernels: fused multiply-adds in registers in
 * single and double precision, and the bandwidth of the triad a = b + s c (McCalpin's count: 24
 * bytes an element, without write-allocate). Prints one JSON line, the medians. Each limit is
 * measured for SECONDS, so that copies of the program, started together on several cores, measure
 * the same one at once. usage: roofline [MIB OF THE THREE ARRAYS [SECONDS]]; 384 MiB, which are far
 * more than caches, and 0.2 s unless given. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { VECTOR = 64, CHAINS = 12, ROUNDS = 400000, LEAST = 5, MOST = 10000 };
typedef float single_vec __attribute__((vector_size(VECTOR)));
typedef double double_vec __attribute__((vector_size(VECTOR)));

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Flop/s of CHAINS independent chains x = x * a + b; the sum is returned, so that all are computed.
 */
#define PEAK(name, vec, number)                                                                    \
    static double name(double *sum) {                                                              \
        vec x[CHAINS], a = (vec){0} + (number)0.999, b = (vec){0} + (number)0.001;                 \
        for (int i = 0; i < CHAINS; i++)                                                           \
            x[i] = (vec){0} + (number)i;                                                           \
        double begun = now();                                                                      \
        for (long round = 0; round < ROUNDS; round++)                                              \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) x[i] = x[i] * a + b;         \
        double time = now() - begun;                                                               \
        for (int i = 0; i < CHAINS; i++)                                                           \
            for (int lane = 0; lane < (int)(VECTOR / sizeof(number)); lane++)                      \
                *sum += (double)x[i][lane];                                                        \
        return 2.0 * ROUNDS * CHAINS * (VECTOR / sizeof(number)) / time;                           \
    }
PEAK(peak_single, single_vec, float)
PEAK(peak_double, double_vec, double)

static double *a, *b, *c;
static size_t count; /* numbers in each */

static double triad(double *sum) {
    double begun = now();
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] + 0.5 * c[i];
    double time = now() - begun;
    *sum += a[count / 2];
    return 24.0 * (double)count / time;
}

static double *array(double value) {
    double *numbers = aligned_alloc(VECTOR, (count * sizeof *numbers + VECTOR) / VECTOR * VECTOR);
    if (!numbers) {
        fprintf(stderr, "roofline: no memory for %zu numbers\n", count);
        exit(1);
    }
    for (size_t i = 0; i < count; i++)
        numbers[i] = value;
    return numbers;
}

static int ascending(const void *one, const void *other) {
    const double x = *(const double *)one, y = *(const double *)other;
    return (x > y) - (x < y);
}

/* The median of a limit that is measured for so long. */
static double median(double (*limit)(double *sum), double seconds, double *sum) {
    static double values[MOST];
    const double end = now() + seconds;
    int done = 0;
    while (done < LEAST || (done < MOST && now() < end))
        values[done++] = limit(sum);
    qsort(values, (size_t)done, sizeof *values, ascending);
    return values[done / 2];
}

int main(int argc, char **argv) {
    const double seconds = argc > 2 ? atof(argv[2]) : 0.2;
    count = (size_t)((argc > 1 ? atof(argv[1]) : 384) * 1024 * 1024 / (3 * sizeof(double)));
    if (count == 0 || !(seconds >= 0)) {
        fprintf(stderr, "usage: roofline [MIB OF THE THREE ARRAYS [SECONDS]]\n");
        return 2;
    }
    a = array(0), b = array(1), c = array(2);
    double sum = 0, single = median(peak_single, seconds, &sum);
    double doubled = median(peak_double, seconds, &sum);
    double bandwidth = median(triad, seconds, &sum);
    if (!(sum > 0)) {
        fprintf(stderr, "roofline: wrong result\n");
        return 1;
    }
    printf("{\"single_flop_per_s\":%.4g,\"double_flop_per_s\":%.4g,\"triad_bytes_per_s\":%.4g}\n",
           single, doubled, bandwidth);
    return 0;
}
