/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "target.h"

#include <stdint.h>

/* Many small files, of each rank in a folder of its own. */

enum small_step { SMALL_CREATE, SMALL_STAT, SMALL_READ, SMALL_REMOVE, SMALL_STEPS };
extern const char *const small_metrics[SMALL_STEPS];

struct small_files {
    const struct target *target;
    long long count; /* of a rank */
    uint64_t seed;   /* of their content: of this pass */
};

enum { SMALL_BYTES = 3901 }; /* of a file, as of IO500's mdtest-hard */

/* Create (write, fsync, close), stat, read and remove all files, one step after the other: seconds
 * of each from a barrier to its end, into times. A rank creates its own files and does the rest to
 * those of rank target->writer; folders are synchronised before the clock of creating and removing
 * stops. A wrong size or byte ends the run (fail_answer). Collective over all ranks. */
void small_files_time(const struct small_files *files, double times[SMALL_STEPS]);
