/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_NODE_COUNTERS_H
#define ASSAY_NODE_COUNTERS_H

/* The processor's own count of finished instructions of this thread, where the kernel gives it. */
struct counters {
    int instructions; /* descriptor, or -1 */
};

struct counters counters_open(void);
/* Instructions since the program started, or -1 when they are not counted here. */
long long counters_read(const struct counters *counters);
void counters_close(struct counters *counters);

#endif
