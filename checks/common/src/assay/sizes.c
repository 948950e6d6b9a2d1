/* SPDX-License-Identifier: Apache-2.0 */
#include "sizes.h"

#include "fail.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read up to three whole numbers separated by colons; how many, or -1. */
static int read_numbers(const char *text, long long *numbers) {
    for (int count = 0;; text++) {
        char *end;
        errno = 0;
        if (count == 3 || *text < '0' || *text > '9')
            return -1;
        numbers[count++] = strtoll(text, &end, 10);
        if (errno)
            return -1;
        if (*end == '\0')
            return count;
        if (*end != ':')
            return -1;
        text = end;
    }
}

/* Add one part of the comma list. NULL, or what is allowed. */
static const char *add_part(struct sizes *sizes, const char *part) {
    long long n[3] = {0, 0, 1};
    int logarithmic = strncmp(part, "log:", 4) == 0;
    int count = read_numbers(part + (logarithmic ? 4 : 0), n);
    if (count != 3 && (count != 1 || logarithmic))
        return "BYTES, FIRST:LAST:STEP or log:FIRST:LAST:PER_OCTAVE";
    if (count == 1)
        n[1] = n[0];
    if (n[0] > SIZES_GREATEST || n[1] > SIZES_GREATEST)
        return "sizes from 0 to 1073741824 bytes";
    if (n[0] > n[1])
        return "FIRST not above LAST";
    if (logarithmic && n[0] < 1)
        return "FIRST at least 1 in a logarithmic range";
    if (n[2] < 1 || n[2] > (logarithmic ? 64 : SIZES_GREATEST))
        return logarithmic ? "PER_OCTAVE from 1 to 64" : "STEP from 1 to 1073741824";
    for (long long i = 0;; i++) {
        long long bytes =
            logarithmic ? llround((double)n[0] * exp2((double)i / (double)n[2])) : n[0] + i * n[2];
        if (bytes > n[1])
            return NULL;
        if (sizes->count == SIZES_MOST)
            return "at most 100000 sizes";
        sizes->bytes[sizes->count++] = bytes;
    }
}

static int ascending(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

int sizes_parse(const char *text, struct sizes *sizes, char *message, size_t size) {
    sizes->count = 0;
    sizes->bytes = malloc(SIZES_MOST * sizeof *sizes->bytes);
    if (!sizes->bytes) {
        snprintf(message, size, "sizes: out of memory");
        return -1;
    }
    for (const char *at = text;; at++) {
        char part[80];
        size_t length = strcspn(at, ",");
        snprintf(part, sizeof part, "%.*s", (int)(length < 79 ? length : 79), at);
        const char *allowed = add_part(sizes, part);
        if (allowed) {
            snprintf(message, size, "sizes: found '%s', allowed is %s", part, allowed);
            sizes_free(sizes);
            return -1;
        }
        at += length;
        if (!*at)
            break;
    }
    size_t kept = 0;
    qsort(sizes->bytes, sizes->count, sizeof *sizes->bytes, ascending);
    for (size_t i = 0; i < sizes->count; i++)
        if (i == 0 || sizes->bytes[i] != sizes->bytes[kept - 1])
            sizes->bytes[kept++] = sizes->bytes[i];
    sizes->count = kept;
    return 0;
}

void sizes_read(struct sizes *sizes, const char *text, const char *program) {
    char message[256];
    int wrong = sizes_parse(text, sizes, message, sizeof message);
    fail_all(wrong, program, "option --%s", wrong ? message : "");
}

void sizes_free(struct sizes *sizes) {
    free(sizes->bytes);
    sizes->bytes = NULL;
    sizes->count = 0;
}
