/* SPDX-License-Identifier: Apache-2.0 */
#include "sizes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(struct sizes *sizes, long long bytes) {
    if (sizes->count == SIZES_MOST)
        return -1;
    sizes->bytes[sizes->count++] = bytes;
    return 0;
}

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

static int add_linear(struct sizes *sizes, long long first, long long last, long long step) {
    for (long long bytes = first; bytes <= last; bytes += step)
        if (add(sizes, bytes) != 0)
            return -1;
    return 0;
}

static int add_logarithmic(struct sizes *sizes, long long first, long long last, long long octave) {
    for (long long i = 0;; i++) {
        long long bytes = llround((double)first * exp2((double)i / (double)octave));
        if (bytes > last)
            return 0;
        if (add(sizes, bytes) != 0)
            return -1;
    }
}

/* NULL if the part was added, else what is allowed. */
static const char *add_part(struct sizes *sizes, const char *part) {
    static const char *const form = "BYTES, FIRST:LAST:STEP or log:FIRST:LAST:PER_OCTAVE";
    static const char *const many = "at most 100000 sizes";
    long long n[3] = {0, 0, 0};
    int logarithmic = strncmp(part, "log:", 4) == 0;
    int count = read_numbers(part + (logarithmic ? 4 : 0), n);
    if (count != 3 && (count != 1 || logarithmic))
        return form;
    if (n[0] > SIZES_GREATEST || (count == 3 && n[1] > SIZES_GREATEST))
        return "sizes from 0 to 1073741824 bytes";
    if (count == 1)
        return add(sizes, n[0]) == 0 ? NULL : many;
    if (n[0] > n[1])
        return "FIRST not above LAST";
    if (logarithmic && n[0] < 1)
        return "FIRST at least 1 in a logarithmic range";
    if (n[2] < 1 || (logarithmic && n[2] > 64))
        return logarithmic ? "PER_OCTAVE from 1 to 64" : "STEP at least 1";
    return (logarithmic ? add_logarithmic : add_linear)(sizes, n[0], n[1], n[2]) == 0 ? NULL : many;
}

static int ascending(const void *a, const void *b) {
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x > y) - (x < y);
}

static void sort_unique(struct sizes *sizes) {
    size_t kept = 0;
    qsort(sizes->bytes, sizes->count, sizeof *sizes->bytes, ascending);
    for (size_t i = 0; i < sizes->count; i++)
        if (i == 0 || sizes->bytes[i] != sizes->bytes[kept - 1])
            sizes->bytes[kept++] = sizes->bytes[i];
    sizes->count = kept;
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
    sort_unique(sizes);
    return 0;
}

void sizes_free(struct sizes *sizes) {
    free(sizes->bytes);
    sizes->bytes = NULL;
    sizes->count = 0;
}
