// SPDX-License-Identifier: Apache-2.0
/* Preloaded, it sets the clock (CLOCK_REALTIME) of one process: by the seconds, a double, that the
 * file named by SET_CLOCK holds. Whoever writes the file sets the clocks of all processes that have
 * it. The machine's clock stays, and that of srun, which lets the kernel wait until a time. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile double *set_by_s;

/* Not in a constructor: those of other libraries may ask for the time before. */
static void find_file(void) {
    static int found_before;
    if (found_before++)
        return;
    const char *name = strcmp(program_invocation_short_name, "srun") ? getenv("SET_CLOCK") : NULL;
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    void *found =
        file < 0 ? MAP_FAILED : mmap(NULL, sizeof *set_by_s, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    set_by_s = found == MAP_FAILED ? NULL : found;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    find_file();
    if (status == 0 && set_by_s && clock == CLOCK_REALTIME)
        now->tv_sec += (time_t)*set_by_s;
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec found;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *kept) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (kept)
        *kept = now.tv_sec;
    return now.tv_sec;
}
