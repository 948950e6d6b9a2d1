/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The name of the host on which this process runs, NUL-terminated in HOST_BYTES; "unknown" where
 * the system does not say. Local, no MPI. */

#define HOST_BYTES 256

void host_name(char *name);

/* Up to its first dot. */
void host_short_name(char *name);
