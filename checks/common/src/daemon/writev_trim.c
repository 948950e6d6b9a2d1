/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_NEXT */
/* A shim to lay before LAM/MPI 7.1.4 (LD_PRELOAD): writev and readv without trailing empty vectors.
 *
 * Why: LAM 7.1.4 (_cio_send and _cio_recv in share/kreq/clientio.c) moves a message without a body
 * with a second vector of length 0 whose address is whatever the variable held. Newer kernels check
 * the address of empty vectors too and answer EFAULT when it is wild. By chance, then, MPI_Init
 * fails ("The selected RPI failed to initialize during MPI_INIT", writev), and a long message
 * through the daemon fails with "internal MPI error: Bad address" or hangs (rpi lamd).
 *
 * Contract: writev or readv (file, vectors, count) with the empty vectors at the end left out, and
 * only those: what is moved, the result and errno are else the system's own. If all are empty the
 * count is 0 and the result 0, as the kernel answers. A negative count is passed on (EINVAL).
 * Thread-safe: the look-up gives the same answer to every thread. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

typedef ssize_t (*vector_function)(int, const struct iovec *, int);

static ssize_t trimmed(const char *name, int file, const struct iovec *vectors, int count) {
    void *found = dlsym(RTLD_NEXT, name);
    vector_function next;
    if (!found) {
        errno = ENOSYS;
        return -1;
    }
    memcpy(&next, &found, sizeof next);
    while (count > 0 && vectors[count - 1].iov_len == 0)
        count--;
    return next(file, vectors, count);
}

ssize_t writev(int file, const struct iovec *vectors, int count) {
    return trimmed("writev", file, vectors, count);
}

ssize_t readv(int file, const struct iovec *vectors, int count) {
    return trimmed("readv", file, vectors, count);
}
