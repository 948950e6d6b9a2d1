/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_LEFTOVERS_H
#define ASSAY_LEFTOVERS_H

#include <time.h>

/* Remove the System V shared memory segments and semaphore sets that killed processes of this
 * user left behind. Only those made by this process's own user since the time `since` whose owner
 * is dead: a segment's creator with nobody attached; of a set, which records no creator, all
 * processes that last worked on its semaphores (at least one known). What belongs to a process
 * that this PID namespace cannot see is left alone. */
void leftovers_remove(time_t since);

#endif
