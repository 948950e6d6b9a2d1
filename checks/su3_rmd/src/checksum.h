/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* CRC-32 (IEEE 802.3) of all bytes so far, whose CRC is `before` (at first 0), and `bytes` more.
 * Local. */
uint32_t checksum(uint32_t before, const void *data, size_t bytes);
