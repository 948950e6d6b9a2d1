/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_PAYLOAD_H
#define ASSAY_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/* What a message carries, so that a reply can be proved to answer it. All functions are local.
 *
 * The counter stands, low byte first, in the first up to 8 and the last up to 8 bytes; a message
 * of less than 16 bytes is divided between the two, the front getting the odd byte, and the
 * counter is cut to what fits. 0 bytes carry nothing. The answer to a message is the complement
 * of the bytes received there, so it cannot be known before the message is. */

void payload_put(void *message, size_t bytes, uint64_t counter);

/* 1 if the message carries counter, else 0; always 1 for 0 bytes. */
int payload_carries(const void *message, size_t bytes, uint64_t counter);

/* Write into reply the answer to the received message; the two do not overlap. */
void payload_answer(void *reply, const void *received, size_t bytes);

/* 1 if reply answers the message that carried counter, else 0; always 1 for 0 bytes. */
int payload_answers(const void *reply, size_t bytes, uint64_t counter);

/* Fill the whole message from a seed; the complement of it, byte by byte; the least index that
 * differs from the pattern (complemented if complement is 1), or bytes if none does. */
void payload_pattern(void *message, size_t bytes, uint64_t seed);
void payload_complement(void *reply, const void *received, size_t bytes);
size_t payload_pattern_error(const void *message, size_t bytes, uint64_t seed, int complement);

#endif
