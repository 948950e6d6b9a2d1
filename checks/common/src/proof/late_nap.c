/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: each nap of a rank lasts at least 50 ms, as on a node whose cores are taken. What the
 * rank rests for has long come, and what follows it, too. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <string.h>
#include <time.h>

#define LEAST_NS 50000000L

int nanosleep(const struct timespec *time, struct timespec *left) {
    static int (*nap)(const struct timespec *, struct timespec *);
    const struct timespec least = {0, LEAST_NS};
    if (!nap) {
        void *found = dlsym(RTLD_NEXT, "nanosleep");
        memcpy(&nap, &found, sizeof nap);
    }
    return nap(time->tv_sec == 0 && time->tv_nsec < LEAST_NS ? &least : time, left);
}
