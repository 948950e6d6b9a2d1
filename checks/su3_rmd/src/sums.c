/* SPDX-License-Identifier: Apache-2.0 */
#include "sums.h"

#include <math.h>

#define COARSE 0x1p20
#define FINE 0x1p52
#define GREATEST_TERM 0x1p12

void sum_add(struct sum *sum, double term) {
    if (!(fabs(term) < GREATEST_TERM)) {
        sum->bad++;
        return;
    }
    long long coarse = llrint(term * COARSE);
    sum->coarse += coarse;
    sum->fine += llrint((term - (double)coarse / COARSE) * FINE);
}

void sums_finish(const struct sum *sums, int count, double *values, MPI_Comm comm) {
    long long own[SUMS_MOST * SUM_INTEGERS] = {0}, all[SUMS_MOST * SUM_INTEGERS];
    for (int i = 0; i < count; i++) {
        own[SUM_INTEGERS * i] = sums[i].coarse;
        own[SUM_INTEGERS * i + 1] = sums[i].fine;
        own[SUM_INTEGERS * i + 2] = sums[i].bad;
    }
    MPI_Allreduce(own, all, count * SUM_INTEGERS, MPI_LONG_LONG_INT, MPI_SUM, comm);
    for (int i = 0; i < count; i++) {
        const long long *sum = all + SUM_INTEGERS * i;
        values[i] = sum[2] ? NAN : (double)sum[0] / COARSE + (double)sum[1] / FINE;
    }
}
