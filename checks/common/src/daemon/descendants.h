/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_DESCENDANTS_H
#define ASSAY_DESCENDANTS_H

#include <sys/types.h>

/* The processes that descend from this one, by the parent numbers in /proc. As this process is a
 * child subreaper, an orphan's parent is this process, so that the walk finds it. */

/* Send the signal to every living descendant; how many there were (0 also if /proc cannot be
 * read). A process born during the walk may be missed: repeat. */
int descendants_signal(int signal);

#endif
