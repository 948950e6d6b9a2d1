/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Sets of message sizes in bytes, written as a comma list of
 *   300             one size
 *   300:4800:300    first : last : step (last only if a step meets it)
 *   log:1:1024:2    first : last : sizes an octave, first·2^(i/2) rounded, up to last
 * Sizes are from 0 to SIZES_GREATEST; a logarithmic range starts at 1 or above. */
#define SIZES_GREATEST (1LL << 30)
#define SIZES_MOST 100000 /* sizes in one set */

struct sizes {
    long long *bytes; /* ascending, each once; owned */
    size_t count;
};

/* Parse text. 0, or -1 with message (size bytes) naming the wrong part and what is allowed; nothing
 * is allocated then. Local. */
int sizes_parse(const char *text, struct sizes *sizes, char *message, size_t size);

/* The value of a program's option --sizes, the same on every rank; a wrong one ends the run
 * (fail_all). Collective. */
void sizes_read(struct sizes *sizes, const char *text, const char *program);

void sizes_free(struct sizes *sizes);
