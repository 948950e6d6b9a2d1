/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Zeroed memory aligned to 64 bytes (a cache line, the longest vector), or NULL. Built on malloc
 * and free because LAM/MPI replaces these two but not aligned_alloc, whose memory its free cannot
 * handle. Local. */
void *memory_take(size_t bytes);
void memory_return(void *memory); /* NULL is allowed */
