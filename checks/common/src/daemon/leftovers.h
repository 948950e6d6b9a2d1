/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <time.h>

/* Remove the System V shared memory segments and semaphore sets that killed processes left behind:
 * those of this process's user, created since the time `since`, whose owners are dead. The owner of
 * a segment is its creator, and nobody may be attached; a set records no creator, so its owners are
 * the processes that last used its semaphores (at least one known). Objects of processes outside
 * this PID namespace are kept. */
void leftovers_remove(time_t since);
