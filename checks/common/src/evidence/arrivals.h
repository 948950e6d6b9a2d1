/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/json.h"

/* Bytes that crossed the network, from the counters of this node's interfaces. Local, no MPI. */

/* Bytes received since the interfaces came up, over all interfaces but lo in /proc/self/net/dev
 * (this process's network namespace; /sys may show another) and InfiniBand's port_rcv_data (in
 * units of 4 bytes). -1 if /proc/self/net/dev cannot be read. */
long arrivals_read(void);

/* Bytes received since arrivals_read returned before; waits at most 50 ms until they are at least
 * `expected`, because the counters of some cards lag. -1 if before is negative. */
long arrivals_since(long before, long expected);

/* Add the object of one link to the array that is open in line: sent_bytes went from rank `from` to
 * rank `to`, of which arrived bytes (-1: not known) were counted at to_host. */
void arrivals_add_link(struct json *line, int from, int to, const char *from_host,
                       const char *to_host, long sent_bytes, long arrived);
