/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* A counting loop whose result proves that every turn was executed: x ← a·x + c modulo 2^64
 * (Knuth's MMIX constants), each turn depending on the one before. Local. */

/* The state after so many turns from 0, one after the other. */
uint64_t counting_run(uint64_t turns);

/* The reference: the same in about 2·log2(turns) steps, by squaring the affine map. */
uint64_t counting_reference(uint64_t turns);

/* The number of turns, at least 1, that take about `seconds` on this core. */
uint64_t counting_calibrate(double seconds);
