/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Zeroed memory for count elements of size bytes. Every page is touched, so that no page fault
 * falls into a timed interval. Out of memory ends the run (fail_if). count may be 0. Local; free it
 * with free. */
void *buffer_make(size_t count, size_t size);
