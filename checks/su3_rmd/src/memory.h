/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_MEMORY_H
#define SU3_MEMORY_H

#include <stddef.h>

/* Memory aligned to 64 bytes (a cache line, the longest vector), zeroed; NULL if there is none.
 * Built on malloc and free, because LAM/MPI replaces these two and not aligned_alloc, and its free
 * does not understand what the other has allocated. Local. */
void *memory_take(size_t bytes);
void memory_return(void *memory); /* NULL is allowed */

#endif
