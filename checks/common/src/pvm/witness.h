/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The evidence line of evidence.h for two PVM tasks: the place of each, the libpvm3 in use, and the
 * bytes of a probe each way that arrived at the node's interfaces. Collective over both tasks; the
 * asking one (is_partner 0) prints. start_s: CLOCK_REALTIME when the task started. */
void witness(int other, int is_partner, double start_s);
