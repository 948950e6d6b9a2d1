/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The processor's count of retired instructions of this thread, if the kernel permits it. Local. */
struct counters {
    int instructions; /* descriptor, or -1 */
};

struct counters counters_open(void);
/* Instructions since counters_open, or -1 if they are not counted. */
long long counters_read(const struct counters *counters);
void counters_close(struct counters *counters);
