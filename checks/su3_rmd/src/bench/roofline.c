/* SPDX-License-Identifier: Apache-2.0 */
/* The two limits of a core, for comparison with the kernels: fused multiply-adds in registers in
 * single and double precision, and the bandwidth of the triad a = b + s c on arrays far greater
 * than the caches (McCalpin's count: 24 bytes an element, without write-allocate). Prints one JSON
 * line, the best of several repetitions. usage: roofline [MIB OF EACH ARRAY] */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { VECTOR = 64, CHAINS = 12, ROUNDS = 4000000, REPETITIONS = 5 };
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

static double triad(double *a, const double *b, const double *c, size_t count, double s) {
    double begun = now();
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] + s * c[i];
    return 24.0 * (double)count / (now() - begun);
}

static double *array(size_t count, double value) {
    double *numbers = malloc(count * sizeof *numbers);
    if (!numbers) {
        fprintf(stderr, "roofline: no memory for %zu numbers\n", count);
        exit(1);
    }
    for (size_t i = 0; i < count; i++)
        numbers[i] = value;
    return numbers;
}

static double greater(double one, double other) { return one > other ? one : other; }

int main(int argc, char **argv) {
    size_t count = (size_t)(argc > 1 ? atoi(argv[1]) : 128) * 1024 * 1024 / sizeof(double);
    double *a = array(count, 0), *b = array(count, 1), *c = array(count, 2);
    double single = 0, doubled = 0, bandwidth = 0, sum = 0;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        single = greater(single, peak_single(&sum));
        doubled = greater(doubled, peak_double(&sum));
        bandwidth = greater(bandwidth, triad(a, b, c, count, 1 + repetition));
    }
    if (a[count / 2] != 1 + 2.0 * REPETITIONS || !(sum > 0)) {
        fprintf(stderr, "roofline: wrong result\n");
        return 1;
    }
    printf("{\"single_flop_per_s\":%.4g,\"double_flop_per_s\":%.4g,\"triad_bytes_per_s\":%.4g}\n",
           single, doubled, bandwidth);
    return 0;
}
