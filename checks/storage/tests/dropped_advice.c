/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: a kernel that does not heed the advice to forget pages, so that reads are cached. */
#include <sys/types.h>

int posix_fadvise(int file, off_t offset, off_t length, int advice);
int posix_fadvise(int file, off_t offset, off_t length, int advice) {
    (void)file, (void)offset, (void)length, (void)advice;
    return 0;
}
