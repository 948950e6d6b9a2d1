/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_CHILD_H
#define ASSAY_CHILD_H

#include <sys/types.h>

/* A program of others as a child of one of ours, with its standard output and error. */

/* Start words[0] with words, NULL-ended; it ends with this process, however that ends. */
pid_t child_start(char **words);

/* Start words[0] with nothing to write to; it outlives this process. */
void child_leave_behind(char **words);

/* Sleep until the child has ended, so that it has the core; an end with another status than 0 is
 * a failure (fail_if). */
void child_finish(pid_t child, const char *name);

/* 1 if the child has ended already; its status is taken then. */
int child_has_ended(pid_t child);

#endif
