/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: who waits for an answer waits for minutes, and gives none up that is only late. */
#define _GNU_SOURCE /* ppoll */
#include <poll.h>
#include <stddef.h>

int poll(struct pollfd *ends, nfds_t count, int most_ms) {
    long left_ms = count > 0 && most_ms > 0 ? 600000 : most_ms;
    const struct timespec left = {left_ms / 1000, left_ms % 1000 * 1000000};
    return ppoll(ends, count, most_ms < 0 ? NULL : &left, NULL);
}
