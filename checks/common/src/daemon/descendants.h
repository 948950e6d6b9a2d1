/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* The descendants of this process, by the parent pids in /proc. This process must be a child
 * subreaper: then it becomes the parent of orphans, which are found too. */

/* Send the signal to every living descendant; returns their number (0 also if /proc cannot be
 * read). A process created meanwhile may be missed: repeat. */
int descendants_signal(int signal);
