/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_NEXT */
/* A shim to lay before LAM/MPI 7.1.4 (LD_PRELOAD): writev without trailing empty vectors.
 *
 * Why: LAM 7.1.4 (share/kreq/clientio.c) sends a message without a body as a second vector of
 * length 0 whose address is whatever the variable held. Newer kernels check the address of
 * empty vectors too and answer EFAULT when it is wild; MPI_Init then fails by chance ("The selected
 * RPI failed to initialize during MPI_INIT").
 *
 * Contract: writev(file, vectors, count) with the empty vectors at the end left out, and only
 * those: what is written, the result and errno are else the system's own. If all are empty the
 * count is 0 and the result 0, as the kernel answers. A negative count is passed on (EINVAL).
 * Thread-safe: the look-up gives the same answer to every thread. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

typedef ssize_t (*writev_function)(int, const struct iovec *, int);

ssize_t writev(int file, const struct iovec *vectors, int count) {
    void *found = dlsym(RTLD_NEXT, "writev");
    writev_function next;
    if (!found) {
        errno = ENOSYS;
        return -1;
    }
    memcpy(&next, &found, sizeof next);
    while (count > 0 && vectors[count - 1].iov_len == 0)
        count--;
    return next(file, vectors, count);
}
