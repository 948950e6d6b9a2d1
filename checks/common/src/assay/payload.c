/* SPDX-License-Identifier: Apache-2.0 */
#include "payload.h"

#include "shuffle.h"

/* Lengths of the two copies of the counter. */
struct ends {
    size_t front, back;
};

static struct ends ends_of(size_t bytes) {
    struct ends ends = {8, 8};
    if (bytes < 16) {
        ends.back = bytes / 2;
        ends.front = bytes - ends.back;
    }
    return ends;
}

static unsigned char counter_byte(uint64_t counter, size_t index) {
    return (unsigned char)(counter >> (8 * index));
}

void payload_put(void *message, size_t bytes, uint64_t counter) {
    struct ends ends = ends_of(bytes);
    unsigned char *front = message, *back = front + (bytes - ends.back);
    for (size_t i = 0; i < ends.front; i++)
        front[i] = counter_byte(counter, i);
    for (size_t i = 0; i < ends.back; i++)
        back[i] = counter_byte(counter, i);
}

void payload_answer(void *reply, const void *received, size_t bytes) {
    struct ends ends = ends_of(bytes);
    const unsigned char *from = received;
    unsigned char *to = reply;
    for (size_t i = 0; i < ends.front; i++)
        to[i] = (unsigned char)~from[i];
    for (size_t i = bytes - ends.back; i < bytes; i++)
        to[i] = (unsigned char)~from[i];
}

int payload_carries(const void *message, size_t bytes, uint64_t counter) {
    struct ends ends = ends_of(bytes);
    const unsigned char *front = message, *back = front + (bytes - ends.back);
    for (size_t i = 0; i < ends.front; i++)
        if (front[i] != counter_byte(counter, i))
            return 0;
    for (size_t i = 0; i < ends.back; i++)
        if (back[i] != counter_byte(counter, i))
            return 0;
    return 1;
}

int payload_answers(const void *reply, size_t bytes, uint64_t counter) {
    return payload_carries(reply, bytes, ~counter);
}

void payload_pattern(void *message, size_t bytes, uint64_t seed) {
    struct generator generator = {seed};
    unsigned char *byte = message;
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (i % 8 == 0)
            word = generator_next(&generator);
        byte[i] = counter_byte(word, i % 8);
    }
}

void payload_complement(void *reply, const void *received, size_t bytes) {
    const unsigned char *from = received;
    unsigned char *to = reply;
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)~from[i];
}

size_t payload_pattern_error(const void *message, size_t bytes, uint64_t seed, int complement) {
    struct generator generator = {seed};
    const unsigned char *byte = message;
    unsigned char flip = complement ? 0xFF : 0;
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (i % 8 == 0)
            word = generator_next(&generator);
        if (byte[i] != (counter_byte(word, i % 8) ^ flip))
            return i;
    }
    return bytes;
}
