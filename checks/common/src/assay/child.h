/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* A foreign program as a child process, sharing our standard output and error. Local. */

/* Start words[0] with the arguments words, NULL-terminated. The child is killed when this process
 * ends, however it ends. */
pid_t child_start(char **words);

/* Start words[0] with its streams on /dev/null; it outlives this process. */
void child_leave_behind(char **words);

/* Wait for the child without using the core; an exit status other than 0 ends the run (fail_if). */
void child_finish(pid_t child, const char *name);

/* 1 if the child has ended; this reaps it. */
int child_has_ended(pid_t child);
