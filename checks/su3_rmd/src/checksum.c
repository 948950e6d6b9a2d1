/* SPDX-License-Identifier: Apache-2.0 */
#include "checksum.h"

#define POLYNOMIAL 0xedb88320U

uint32_t checksum(uint32_t before, const void *data, size_t bytes) {
    static uint32_t table[256];
    const unsigned char *at = data;
    uint32_t value = ~before;
    for (uint32_t byte = 0; table[255] == 0 && byte < 256; byte++) {
        uint32_t entry = byte;
        for (int bit = 0; bit < 8; bit++)
            entry = entry & 1 ? (entry >> 1) ^ POLYNOMIAL : entry >> 1;
        table[byte] = entry;
    }
    while (bytes--)
        value = (value >> 8) ^ table[(value ^ *at++) & 255];
    return ~value;
}
