/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 64

/* The pointer from malloc is stored in front of the aligned block. */
void *memory_take(size_t bytes) {
    void *whole = bytes <= SIZE_MAX - 2 * ALIGNMENT ? malloc(bytes + 2 * ALIGNMENT) : NULL;
    if (!whole)
        return NULL;
    uintptr_t start = ((uintptr_t)whole + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    if (start - (uintptr_t)whole < sizeof whole)
        start += ALIGNMENT;
    void *memory = (void *)start;
    memcpy((char *)memory - sizeof whole, &whole, sizeof whole);
    memset(memory, 0, bytes);
    return memory;
}

void memory_return(void *memory) {
    void *whole;
    if (!memory)
        return;
    memcpy(&whole, (char *)memory - sizeof whole, sizeof whole);
    free(whole);
}
