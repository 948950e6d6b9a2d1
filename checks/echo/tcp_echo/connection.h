/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_CONNECTION_H
#define ASSAY_CONNECTION_H

#include <stddef.h>

/* One TCP connection between two processes; whatever goes wrong with it ends the run (fail_if).
 * Messages are the bytes themselves, so both ends must know their lengths, and none has 0 bytes.
 * Nagle's algorithm is off (TCP_NODELAY); buffers are as the kernel sets them. */

/* Wait on port of this host for the other end, at most CONNECTION_PATIENCE_S; the socket. */
#define CONNECTION_PATIENCE_S 20
int connection_accept(int port);

/* Call the end that waits on port of host; the socket. */
int connection_call(const char *host, int port);

void connection_send(int socket, const void *message, size_t bytes);

/* The other end's orderly or sudden end inside of a message is a failure, too. */
void connection_receive(int socket, void *message, size_t bytes);

/* The address that the connection goes to, as text. */
void connection_peer(int socket, char *text, size_t size);

#endif
