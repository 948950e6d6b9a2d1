/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_PROOF_H
#define ASSAY_PROOF_H

#include <math.h>
#include <stdio.h>

/* One proof a property. proof_deviation prints how far a value is from what it must be and
 * what is tolerated; proof_status is the program's exit status. */

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

#endif
