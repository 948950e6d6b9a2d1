/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_ARRIVALS_H
#define ASSAY_ARRIVALS_H

/* Bytes that this node's network interfaces have received since they came up: every interface
 * but lo in /proc/self/net/dev (this process's own network namespace; /sys may show another) and
 * InfiniBand's port_rcv_data (counted in units of 4 bytes). Local; -1 if /proc/self/net/dev
 * cannot be read. */
long arrivals_read(void);

#endif
