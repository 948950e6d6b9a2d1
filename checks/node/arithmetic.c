/* SPDX-License-Identifier: Apache-2.0 */
/* Times of single operations (T. H. Dunigan, ORNL/TM-10881, 1988, table 3): integer and real, add,
 * multiply, and the mean of a sum of three products.
 *
 * The 1988 loops (an operation and an assignment in each iteration, less an empty loop) measure
 * nothing on superscalar processors. Here every operation depends on the result of the one before,
 * so none can be omitted or overlapped. Each chain is verified against the same chain through
 * volatile memory, bit for bit. */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNROLL 16
#define REPEAT16(X) X X X X X X X X X X X X X X X X

typedef uint64_t chain(long blocks);

static uint64_t bits_of(const void *value, size_t bytes) {
    uint64_t bits = 0;
    memcpy(&bits, value, bytes);
    return bits;
}

/* Two functions: the chain in registers, and through memory. STEP computes x from x and b. */
#define CHAIN(NAME, TYPE, KEEP, START, OPERAND, STEP)                                              \
    static uint64_t NAME(long blocks) {                                                            \
        TYPE x = START, b = OPERAND;                                                               \
        KEEP(b);                                                                                   \
        for (long block = 0; block < blocks; block++) {                                            \
            REPEAT16(x = (TYPE)(STEP); KEEP(x);)                                                   \
        }                                                                                          \
        return bits_of(&x, sizeof x);                                                              \
    }                                                                                              \
    static uint64_t NAME##_in_memory(long blocks) {                                                \
        volatile TYPE memory = START, b = OPERAND;                                                 \
        for (long step = 0; step < blocks * UNROLL; step++) {                                      \
            TYPE x = memory;                                                                       \
            memory = (TYPE)(STEP);                                                                 \
        }                                                                                          \
        TYPE x = memory;                                                                           \
        return bits_of(&x, sizeof x);                                                              \
    }

CHAIN(add_16, uint16_t, KEEP_INTEGER, 1, 12345, (uint32_t)x + b)
CHAIN(add_32, uint32_t, KEEP_INTEGER, 1, 123456789, x + b)
CHAIN(add_64, uint64_t, KEEP_INTEGER, 1, 1234567890123456789, x + b)
CHAIN(multiply_16, uint16_t, KEEP_INTEGER, 3, 12347, (uint32_t)x *b)
CHAIN(multiply_32, uint32_t, KEEP_INTEGER, 3, 123456787, x *b)
CHAIN(multiply_64, uint64_t, KEEP_INTEGER, 3, 1234567890123456787, x *b)
CHAIN(add_single, float, KEEP_REAL, 1.0F, 1.0F, x + b)
CHAIN(add_double, double, KEEP_REAL, 1.0, 1.25, x + b)
CHAIN(multiply_single, float, KEEP_REAL, 1.0F, 1.0000001F, x *b)
CHAIN(multiply_double, double, KEEP_REAL, 1.0, 1.0000001, x *b)

#define COMPOUND(NAME, TYPE)                                                                       \
    static uint64_t NAME(long blocks) {                                                            \
        TYPE x = 1, b = (TYPE)0.5, c = 3, d = (TYPE)0.7, e = 5, f = (TYPE)0.3;                     \
        for (long block = 0; block < blocks; block++) {                                            \
            REPEAT16(KEEP_REAL(b); KEEP_REAL(c); KEEP_REAL(e); x = x * b + c * d + e * f;          \
                     KEEP_REAL(x);)                                                                \
        }                                                                                          \
        return bits_of(&x, sizeof x);                                                              \
    }                                                                                              \
    static uint64_t NAME##_in_memory(long blocks) {                                                \
        volatile TYPE x = 1, b = (TYPE)0.5, c = 3, d = (TYPE)0.7, e = 5, f = (TYPE)0.3;            \
        for (long step = 0; step < blocks * UNROLL; step++)                                        \
            x = x * b + c * d + e * f;                                                             \
        TYPE last = x;                                                                             \
        return bits_of(&last, sizeof last);                                                        \
    }

COMPOUND(compound_single, float)
COMPOUND(compound_double, double)

#define ROW(OPERAND, OPERATION, COUNT, NAME) {OPERAND, OPERATION, COUNT, NAME, NAME##_in_memory}
static const struct operation {
    const char *operand, *operation;
    int operations; /* of one step */
    chain *fast, *plain;
} operations[] = {
    ROW("integer16", "+", 1, add_16),           ROW("integer32", "+", 1, add_32),
    ROW("integer64", "+", 1, add_64),           ROW("integer16", "*", 1, multiply_16),
    ROW("integer32", "*", 1, multiply_32),      ROW("integer64", "*", 1, multiply_64),
    ROW("real32", "+", 1, add_single),          ROW("real64", "+", 1, add_double),
    ROW("real32", "*", 1, multiply_single),     ROW("real64", "*", 1, multiply_double),
    ROW("real32", "*+*+*", 5, compound_single), ROW("real64", "*+*+*", 5, compound_double),
};
#define OPERATIONS ((int)(sizeof operations / sizeof *operations))
#define BLOCKS 20000L

struct arithmetic {
    uint64_t results[OPERATIONS];
};

static int parts(const void *state, struct part *parts) {
    (void)state;
    for (int i = 0; i < OPERATIONS; i++)
        parts[i] = (struct part){PART_TIME,
                                 "operation_time",
                                 "s",
                                 operations[i].operand,
                                 operations[i].operation,
                                 (double)BLOCKS * UNROLL * operations[i].operations};
    return OPERATIONS;
}

static double run(void *state, int part) {
    ((struct arithmetic *)state)->results[part] = operations[part].fast(BLOCKS);
    return 0;
}

static int verify(void *state, char *message, size_t size) {
    const struct arithmetic *arithmetic = state;
    for (int i = 0; i < OPERATIONS; i++) {
        uint64_t expected = operations[i].plain(BLOCKS);
        if (arithmetic->results[i] == expected)
            continue;
        snprintf(message, size, "%s %s: result has the bits %llx, expected %llx",
                 operations[i].operand, operations[i].operation,
                 (unsigned long long)arithmetic->results[i], (unsigned long long)expected);
        return 0;
    }
    return 1;
}

static void corrupt(void *state) { ((struct arithmetic *)state)->results[OPERATIONS / 2] ^= 1; }

const struct kernel arithmetic_kernel = {
    "arithmetic", sizeof(struct arithmetic), {0}, NULL, parts, NULL, run, verify, corrupt, free};
