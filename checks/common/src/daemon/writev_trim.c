/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_NEXT */
/* A shim to preload into LAM/MPI 7.1.4 (LD_PRELOAD): writev and readv without trailing empty
 * vectors.
 *
 * Why: LAM 7.1.4 (_cio_send and _cio_recv in share/kreq/clientio.c) transfers a message without a
 * body with a second vector of length 0 and an uninitialised address. Newer kernels check the
 * address of empty vectors too and return EFAULT if it is invalid. By chance, then, MPI_Init fails
 * ("The selected RPI failed to initialize during MPI_INIT", writev), and a long message through the
 * daemon fails with "internal MPI error: Bad address" or hangs (rpi lamd).
 *
 * Contract: writev or readv (file, vectors, count) without the empty vectors at the end, and only
 * those; otherwise result and errno are the system's own. If all are empty the count is 0 and the
 * result 0, as from the kernel. A negative count is passed on (EINVAL). Thread-safe. */
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
