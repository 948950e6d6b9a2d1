/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The content of a message, by which a reply is verified to answer it. Local.
 *
 * The counter is stored, low byte first, in the first 8 and again in the last 8 bytes; a message of
 * less than 16 bytes is divided between the two copies, the front getting the odd byte, and each
 * copy is truncated. 0 bytes carry nothing. The answer to a message is the complement of these
 * bytes as received, so it cannot be computed before the message has arrived. */

void payload_put(void *message, size_t bytes, uint64_t counter);

/* 1 if the message carries counter, else 0; always 1 for 0 bytes. */
int payload_carries(const void *message, size_t bytes, uint64_t counter);

/* Write the answer to the received message into reply; the two do not overlap. */
void payload_answer(void *reply, const void *received, size_t bytes);

/* 1 if reply answers the message that carried counter, else 0; always 1 for 0 bytes. */
int payload_answers(const void *reply, size_t bytes, uint64_t counter);

/* A pattern in every byte, generated from a seed: fill a message with it; complement a message;
 * find the first byte that differs from the pattern (complemented if complement is 1), or bytes. */
void payload_pattern(void *message, size_t bytes, uint64_t seed);
void payload_complement(void *reply, const void *received, size_t bytes);
size_t payload_pattern_error(const void *message, size_t bytes, uint64_t seed, int complement);
