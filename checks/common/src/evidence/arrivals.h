/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/json.h"

/* Bytes that crossed the network, from the counters of this node's interfaces. Local, no MPI. */

/* Ways into a node: Ethernet and all else in /proc/self/net/dev but lo (this process's network
 * namespace; /sys may show another); ports in /sys/class/infiniband (InfiniBand, RoCE, Omni-Path,
 * EFA); Slingshot in /sys/class/cxi. The same bytes may be counted in two of them. */
enum arrivals_way { ARRIVALS_NET, ARRIVALS_RDMA, ARRIVALS_CXI, ARRIVALS_WAYS };

/* Bytes received since the interfaces came up, a way; blind: bit w is set where way w has an
 * interface without a counter that can be read. */
struct arrivals {
    long long bytes[ARRIVALS_WAYS];
    unsigned blind;
};

/* The counters now; root, usually "", is put before the paths of /proc and /sys. */
struct arrivals arrivals_read(const char *root);

/* Bytes received since before, on the way that received most; waits until they are at least
 * `expected`, at most 50 ms, and 1 s where there is more than Ethernet, because the counters of
 * some cards lag. -1 if they stay fewer and an interface is blind: then nothing is known. */
long arrivals_since(const char *root, const struct arrivals *before, long expected);

/* Add the object of one link to the array that is open in line: sent_bytes went from rank `from` to
 * rank `to`, of which arrived bytes (-1: not known) were counted at to_host. */
void arrivals_add_link(struct json *line, int from, int to, const char *from_host,
                       const char *to_host, long sent_bytes, long arrived);
