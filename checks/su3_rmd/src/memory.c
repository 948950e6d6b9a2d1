/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* madvise */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, HUGE_PAGE = 2 << 20 };

/* Fewer entries of the TLB serve a large block in huge pages, where the kernel gives them. */
static void ask_for_huge_pages(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
    (void)madvise(memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
#else
    (void)memory, (void)bytes;
#endif
}

/* The pointer from malloc is stored in front of the aligned block. */
void *memory_take(size_t bytes) {
    const size_t alignment = bytes >= 2 * (size_t)HUGE_PAGE ? HUGE_PAGE : LINE;
    void *whole = bytes <= SIZE_MAX - 2 * alignment ? malloc(bytes + 2 * alignment) : NULL;
    if (!whole)
        return NULL;
    uintptr_t start = ((uintptr_t)whole + alignment) / alignment * alignment;
    if (start - (uintptr_t)whole < sizeof whole)
        start += alignment;
    void *memory = (void *)start;
    memcpy((char *)memory - sizeof whole, &whole, sizeof whole);
    if (alignment == HUGE_PAGE)
        ask_for_huge_pages(memory, bytes);
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
