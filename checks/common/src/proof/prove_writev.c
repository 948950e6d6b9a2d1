/* SPDX-License-Identifier: Apache-2.0 */
/* The preloaded shim of writev and readv removes trailing empty vectors and nothing else. */
#define _DEFAULT_SOURCE /* writev, pipe */
#include "proof.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define WILD ((void *)0xFFFF800000000123UL) /* no user address */

static int ends[2];

static double written(struct iovec *vectors, int count, const char *expected) {
    char text[64] = "";
    ssize_t result = writev(ends[1], vectors, count);
    if (result > 0 &&
        (read(ends[0], text, sizeof text - 1) != result || strcmp(text, expected) != 0))
        return -1;
    return (double)result;
}

static double read_back(struct iovec *vectors, int count) {
    if (write(ends[1], "xy", 2) != 2)
        return -2;
    ssize_t result = readv(ends[0], vectors, count);
    char rest[2];
    if (result < 2 && read(ends[0], rest, sizeof rest) < 0)
        return -3;
    return (double)result;
}

int main(void) {
    char ab[] = "ab", cd[] = "cd";
    struct iovec wild[] = {{ab, 2}, {WILD, 0}}, two[] = {{ab, 2}, {cd, 2}};
    struct iovec middle[] = {{ab, 2}, {cd, 0}, {cd, 2}}, empty[] = {{WILD, 0}, {WILD, 0}};
    struct iovec bad[] = {{ab, 2}, {WILD, 2}};
    if (pipe(ends) != 0)
        return 2;
    proof_deviation("wild empty vector at the end", written(wild, 2, "ab"), 2, 0);
    proof_deviation("two vectors", written(two, 2, "abcd"), 4, 0);
    proof_deviation("empty vector in the middle", written(middle, 3, "abcd"), 4, 0);
    proof_deviation("all empty", written(empty, 2, ""), 0, 0);
    proof_deviation("no vector", written(two, 0, ""), 0, 0);
    proof_deviation("negative count", written(two, -1, ""), -1, 0);
    proof_true("  is EINVAL", errno == EINVAL);
    proof_deviation("reading, wild empty vector at the end", read_back(wild, 2), 2, 0);
    proof_deviation("reading, all empty", read_back(empty, 2), 0, 0);
    errno = 0;
    ssize_t result = writev(ends[1], bad, 2);
    proof_true("a wild vector with a length still fails or is cut",
               (result == -1 && errno == EFAULT) || result == 2);
    return proof_status();
}
