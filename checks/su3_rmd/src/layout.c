/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int greatest_prime_factor(int number) {
    int greatest = 1;
    for (int factor = 2; (long)factor * factor <= number; factor++)
        while (number % factor == 0) {
            greatest = factor;
            number /= factor;
        }
    return number > greatest ? number : greatest;
}

int layout_choose(const int size[DIRECTIONS], int ranks, int procs[DIRECTIONS]) {
    int local[DIRECTIONS];
    for (int d = 0; d < DIRECTIONS; d++) {
        local[d] = size[d];
        procs[d] = 1;
    }
    while (ranks > 1) {
        int factor = greatest_prime_factor(ranks), cut = -1;
        for (int d = 0; d < DIRECTIONS; d++)
            if (local[d] % factor == 0 &&
                (cut < 0 || local[d] > local[cut] ||
                 (local[d] == local[cut] && procs[cut] == 1 && procs[d] > 1)))
                cut = d;
        if (cut < 0)
            return -1;
        local[cut] /= factor;
        procs[cut] *= factor;
        ranks /= factor;
    }
    return 0;
}

void layout_counts(const int size[DIRECTIONS], int most, char *text, size_t room) {
    int procs[DIRECTIONS];
    size_t used = 0;
    int pending = 0; /* the count not yet written: the last one is joined by "and" */
    text[0] = '\0';
    for (int count = 1; count <= most && used + 16 < room; count++) {
        if (layout_choose(size, count, procs) != 0)
            continue;
        if (pending)
            used += (size_t)snprintf(text + used, room - used, used ? ", %d" : "%d", pending);
        pending = count;
    }
    snprintf(text + used, room - used, used ? " and %d" : "%d", pending);
}

int layout_read(const char *text, int procs[DIRECTIONS]) {
    for (int d = 0; d < DIRECTIONS; d++) {
        char *end;
        long number = strtol(text, &end, 10);
        if (end == text || number < 1 || number > INT_MAX)
            return -1;
        if (*end != (d < DIRECTIONS - 1 ? ',' : '\0'))
            return -1;
        procs[d] = (int)number;
        text = end + 1;
    }
    return 0;
}
