/* SPDX-License-Identifier: Apache-2.0 */
/* Sieve and floatmath of T. H. Dunigan, ORNL/TM-10881, 1988, table 4: 100 sieves of 1 to 8190 and
 * 256,000 repetitions of double-precision operations. The report does not name the operations: here
 * an addition, a subtraction, a multiplication and a division, each on the last result. */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIEVE_SIZE 8190
#define SIEVES 100
/* Odd primes from 3 to 2·8190 + 3, as counted by the sieve of J. and G. Gilbreath, BYTE 1981. */
#define SIEVE_PRIMES 1899

struct sieve {
    unsigned char crossed[SIEVE_SIZE + 1];
    int primes;
};

static int count_primes(unsigned char *crossed) {
    int primes = 0;
    memset(crossed, 0, SIEVE_SIZE + 1);
    for (int i = 0; i <= SIEVE_SIZE; i++) {
        if (crossed[i])
            continue;
        int prime = i + i + 3;
        for (int k = i + prime; k <= SIEVE_SIZE; k += prime)
            crossed[k] = 1;
        primes++;
    }
    return primes;
}

static double run_sieve(void *state, int part) {
    struct sieve *sieve = state;
    (void)part;
    sieve->primes = 0;
    for (int i = 0; i < SIEVES; i++)
        sieve->primes += count_primes(sieve->crossed);
    return 0;
}

static int verify_sieve(void *state, char *message, size_t size) {
    int primes = ((struct sieve *)state)->primes;
    if (primes == SIEVES * SIEVE_PRIMES)
        return 1;
    snprintf(message, size, "sieve: %d primes in %d runs, expected %d", primes, SIEVES,
             SIEVES * SIEVE_PRIMES);
    return 0;
}

static void corrupt_sieve(void *state) { ((struct sieve *)state)->primes--; }

const struct kernel sieve_kernel =
    KERNEL_TIMED("sieve", struct sieve, NULL, run_sieve, verify_sieve, corrupt_sieve);

#define FLOATMATH_REPETITIONS 256000

static double run_floatmath(void *state, int part) {
    double x = 1, a = 2.5, b = 1.25, c = 1.5, d = 1.75;
    (void)part;
    for (int i = 0; i < FLOATMATH_REPETITIONS; i++) {
        x += a;
        KEEP_REAL(x);
        x -= b;
        KEEP_REAL(x);
        x *= c;
        KEEP_REAL(x);
        x /= d;
        KEEP_REAL(x);
    }
    *(double *)state = x;
    return 0;
}

static int verify_floatmath(void *state, char *message, size_t size) {
    volatile double x = 1;
    for (int i = 0; i < FLOATMATH_REPETITIONS; i++) {
        x = x + 2.5;
        x = x - 1.25;
        x = x * 1.5;
        x = x / 1.75;
    }
    if (*(double *)state == x)
        return 1;
    snprintf(message, size, "floatmath: result %.17g, expected %.17g", *(double *)state, x);
    return 0;
}

static void corrupt_floatmath(void *state) { *(double *)state *= 1 + 1e-12; }

const struct kernel floatmath_kernel =
    KERNEL_TIMED("floatmath", double, NULL, run_floatmath, verify_floatmath, corrupt_floatmath);
