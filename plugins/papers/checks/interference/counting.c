/* SPDX-License-Identifier: Apache-2.0 */
#include "counting.h"

#include "assay/timing.h"

#include <math.h>

#define FACTOR UINT64_C(6364136223846793005)
#define ADDEND UINT64_C(1442695040888963407)
#define TRIAL 200000

uint64_t counting_run(uint64_t turns) {
    uint64_t state = 0;
    for (uint64_t turn = 0; turn < turns; turn++)
        state = FACTOR * state + ADDEND;
    return state;
}

uint64_t counting_reference(uint64_t turns) {
    uint64_t state = 0, factor = FACTOR, addend = ADDEND;
    for (; turns; turns /= 2) {
        if (turns % 2)
            state = factor * state + addend;
        addend += factor * addend;
        factor *= factor;
    }
    return state;
}

uint64_t counting_calibrate(double seconds) {
    double least = INFINITY;
    volatile uint64_t kept = 0;
    for (int attempt = 0; attempt < 5; attempt++) {
        double start = timing_monotonic();
        kept += counting_run(TRIAL);
        least = fmin(least, timing_monotonic() - start);
    }
    (void)kept; /* gcc 16 warns of a volatile that is only written. */
    return (uint64_t)fmax(1, seconds / fmax(least, 1e-9) * TRIAL);
}
