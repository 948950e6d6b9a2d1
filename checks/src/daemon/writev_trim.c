/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_NEXT */
/* A shim to lay before LAM/MPI 7.1.4 (LD_PRELOAD): readv and writev without trailing empty vectors.
 *
 * Why: LAM 7.1.4 (share/kreq/clientio.c) sends and receives a message without a body with a second
 * vector of length 0 whose address is whatever the variable held. Newer kernels check the address
 * of empty vectors too and answer EFAULT when it is wild. With writev, MPI_Init fails by chance
 * ("The selected RPI failed to initialize during MPI_INIT"); with readv, any call of the lamd
 * transport ("internal MPI error: Bad address").
 *
 * Contract: the system's call with the empty vectors at the end left out, and only those: what is
 * moved, the result and errno are else the system's own. If all are empty the count is 0 and the
 * result 0, as the kernel answers. A negative count is passed on (EINVAL). Thread-safe: the look-up
 * gives the same answer to every thread. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

typedef ssize_t (*vector_function)(int, const struct iovec *, int);

static ssize_t call_trimmed(const char *name, int file, const struct iovec *vectors, int count) {
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

ssize_t readv(int file, const struct iovec *vectors, int count) {
    return call_trimmed("readv", file, vectors, count);
}

ssize_t writev(int file, const struct iovec *vectors, int count) {
    return call_trimmed("writev", file, vectors, count);
}
