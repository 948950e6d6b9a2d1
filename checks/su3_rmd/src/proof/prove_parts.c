/* SPDX-License-Identifier: Apache-2.0 */
/* Small parts without a lattice: layout rule, sums, checksum, generators. Any number of ranks. */
#include "checksum.h"
#include "layout.h"
#include "random.h"
#include "setup.h"
#include "sums.h"

#include <string.h>

static void prove_layout(const int size[DIRECTIONS], int ranks, const int expected[DIRECTIONS]) {
    int procs[DIRECTIONS], status = layout_choose(size, ranks, procs);
    int right = expected ? status == 0 && memcmp(procs, expected, sizeof procs) == 0 : status != 0;
    setup_deviation(!right, 0, "layout of %dx%dx%dx%d on %d ranks", size[0], size[1], size[2],
                    size[3], ranks);
}

static void prove_layouts(void) {
    static const int small[] = {4, 4, 4, 8}, cube[] = {8, 8, 8, 8}, third[] = {6, 6, 6, 12};
    static const int on_2[] = {1, 1, 1, 2}, on_4[] = {1, 1, 1, 4}, cube_2[] = {2, 1, 1, 1};
    static const int on_12[] = {2, 2, 1, 3};
    char text[64];
    int procs[DIRECTIONS];
    prove_layout(small, 2, on_2);
    prove_layout(small, 4, on_4);
    prove_layout(small, 3, NULL);
    prove_layout(cube, 2, cube_2);
    prove_layout(third, 12, on_12);
    layout_counts(small, 10, text, sizeof text);
    setup_deviation(strcmp(text, "1, 2, 4 and 8") != 0, 0, "counts that divide 4x4x4x8");
    setup_deviation(layout_read("1,2,3,4", procs) != 0 || procs[3] != 4, 0, "geometry text");
    setup_deviation(layout_read("1,2,3", procs) == 0 || layout_read("1,2,3,0", procs) == 0 ||
                        layout_read("1,2,3,4,", procs) == 0,
                    0, "geometry text refused");
}

static void prove_sums(void) {
    struct sum up = {0, 0, 0}, down = {0, 0, 0}, bad = {0, 0, 0};
    double values[2], exact = 0;
    for (int i = 0; i < 1000; i++) {
        sum_add(&up, sqrt((double)i) - 10);
        sum_add(&down, sqrt((double)(999 - i)) - 10);
        exact += sqrt((double)i) - 10;
    }
    const struct sum both[2] = {up, down};
    sums_finish(both, 2, values, MPI_COMM_SELF);
    setup_deviation(fabs(values[0] - values[1]), 0, "sum in two orders, bit for bit");
    setup_deviation(fabs(values[0] - exact), 1e-9, "sum of 1000 terms");
    sum_add(&bad, NAN);
    sums_finish(&bad, 1, values, MPI_COMM_SELF);
    setup_deviation(!isnan(values[0]), 0, "sum with a NaN is a NaN");
}

/* Mean 0, <x²> = 1/2, <x⁴> = 3/4 within 5 standard errors. */
static void prove_gauss(void) {
    enum { PAIRS = 200000 };
    struct generator generator;
    double square = 0, fourth = 0, mean = 0;
    random_seed_one(&generator, 1, 0);
    for (int i = 0; i < PAIRS; i++) {
        real pair[2];
        random_gauss(&generator, pair);
        for (int j = 0; j < 2; j++) {
            double x2 = (double)pair[j] * (double)pair[j];
            mean += (double)pair[j] / (2.0 * PAIRS);
            square += x2 / (2.0 * PAIRS);
            fourth += x2 * x2 / (2.0 * PAIRS);
        }
    }
    const double root = sqrt(2.0 * PAIRS);
    setup_deviation(fabs(mean), 5 * sqrt(0.5) / root, "gauss: mean");
    setup_deviation(fabs(square - 0.5), 5 * sqrt(0.5) / root, "gauss: square - 1/2");
    setup_deviation(fabs(fourth - 0.75), 5 * sqrt(6.0) / root, "gauss: fourth power - 3/4");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    prove_layouts();
    prove_sums();
    prove_gauss();
    setup_deviation(checksum(0, "123456789", 9) != 0xcbf43926U, 0, "CRC-32 of \"123456789\"");
    return setup_end();
}
