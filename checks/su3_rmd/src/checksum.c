/* SPDX-License-Identifier: Apache-2.0 */
#include "checksum.h"

#define POLYNOMIAL 0xedb88320U

static uint32_t table[256];

static void make_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? (value >> 1) ^ POLYNOMIAL : value >> 1;
        table[byte] = value;
    }
}

uint32_t checksum(uint32_t before, const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint32_t value = ~before;
    if (table[1] == 0)
        make_table();
    while (bytes--)
        value = (value >> 8) ^ table[(value ^ *at++) & 255];
    return ~value;
}
