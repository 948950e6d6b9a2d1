/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* A TCP connection between two processes; any error ends the run (fail_if). Messages have no
 * framing: both ends know their lengths, above 0. Nagle's algorithm is off (TCP_NODELAY); buffer
 * sizes are the kernel's defaults. */

/* Listen on port for the other end, at most CONNECTION_PATIENCE_S; returns the socket. */
#define CONNECTION_PATIENCE_S 20
int connection_accept(int port);

/* Connect to the end that listens on port of host, which may begin later by as much; returns the
 * socket. */
int connection_call(const char *host, int port);

void connection_send(int socket, const void *message, size_t bytes);

/* A connection closed by the other end is an error too. */
void connection_receive(int socket, void *message, size_t bytes);

/* The other end's address as text, and this end's. */
void connection_peer(int socket, char *text, size_t size);
void connection_own(int socket, char *text, size_t size);
