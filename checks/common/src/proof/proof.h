/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <math.h>
#include <stdio.h>

/* One proof a property: proof_deviation prints the deviation of a value and its tolerance;
 * proof_status is the exit status of the program. */

static int proof_failures;

/* The absolute deviation must not exceed the tolerance; NaN fails. */
static inline void proof_deviation(const char *property, double value, double expected,
                                   double tolerance) {
    double deviation = fabs(value - expected);
    int right = deviation <= tolerance;
    printf("%-6s %-58s deviation %.3g tolerance %.3g\n", right ? "right" : "WRONG", property,
           deviation, tolerance);
    proof_failures += !right;
}

static inline void proof_true(const char *property, int holds) {
    proof_deviation(property, holds != 0, 1, 0);
}

static inline int proof_status(void) { return proof_failures ? 1 : 0; }
