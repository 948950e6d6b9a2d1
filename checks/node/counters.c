/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* syscall */
#include "counters.h"

#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/syscall.h>

struct counters counters_open(void) {
    struct perf_event_attr wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.size = sizeof wanted;
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    return (struct counters){(int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0UL)};
}
#else
struct counters counters_open(void) { return (struct counters){-1}; }
#endif

long long counters_read(const struct counters *counters) {
    long long count = -1;
    if (counters->instructions < 0 ||
        read(counters->instructions, &count, sizeof count) != (ssize_t)sizeof count)
        return -1;
    return count;
}

void counters_close(struct counters *counters) {
    if (counters->instructions >= 0)
        close(counters->instructions);
    counters->instructions = -1;
}
