/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_CLOCK_H
#define SU3_CLOCK_H

/* Seconds of the monotonic clock, and of this process's user and system time. Local. */
double clock_now(void);
double clock_cpu(void);

#endif
