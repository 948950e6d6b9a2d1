/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: a disk that takes 50 ms and more to synchronise a file. */
#define _DEFAULT_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

int fsync(int file) {
    usleep(50000);
    return (int)syscall(SYS_fsync, file);
}
