/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* getaddrinfo, poll, MSG_NOSIGNAL */
#include "connection.h"

#include "assay/fail.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_MS 50

/* Turns Nagle's algorithm off. */
static int ready(int connected) {
    int on = 1, wrong = setsockopt(connected, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fail_if(wrong, __func__, "TCP_NODELAY: %s", strerror(errno));
    return connected;
}

int connection_accept(int port) {
    struct sockaddr_in address;
    int on = 1, waiting = socket(AF_INET, SOCK_STREAM, 0);
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)port);
    int wrong = waiting < 0 || setsockopt(waiting, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
                bind(waiting, (struct sockaddr *)&address, sizeof address) != 0 ||
                listen(waiting, 1) != 0;
    fail_if(wrong, __func__, "port %d: %s", port, strerror(errno));
    struct pollfd call = {waiting, POLLIN, 0};
    fail_if(poll(&call, 1, CONNECTION_PATIENCE_S * 1000) != 1, __func__,
            "nobody called port %d within %d s", port, CONNECTION_PATIENCE_S);
    int connected = accept(waiting, NULL, NULL);
    fail_if(connected < 0, __func__, "port %d: %s", port, strerror(errno));
    close(waiting);
    return ready(connected);
}

int connection_call(const char *host, int port) {
    struct addrinfo hints, *found = NULL;
    char service[16];
    memset(&hints, 0, sizeof hints);
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    snprintf(service, sizeof service, "%d", port);
    int wrong = getaddrinfo(host, service, &hints, &found);
    fail_if(wrong != 0, __func__, "host %s: %s", host, gai_strerror(wrong));
    int connected = socket(AF_INET, SOCK_STREAM, 0),
        tries = CONNECTION_PATIENCE_S * 1000 / PAUSE_MS;
    do
        wrong = connected < 0 || connect(connected, found->ai_addr, found->ai_addrlen) != 0;
    while (wrong && errno == ECONNREFUSED && tries-- > 0 && poll(NULL, 0, PAUSE_MS) == 0);
    fail_if(wrong, __func__, "host %s, port %d: %s", host, port, strerror(errno));
    freeaddrinfo(found);
    return ready(connected);
}

void connection_send(int socket, const void *message, size_t bytes) {
    const char *from = message;
    while (bytes > 0) {
        ssize_t sent = send(socket, from, bytes, MSG_NOSIGNAL);
        fail_if(sent < 0 && errno != EINTR, __func__, "to the other end: %s", strerror(errno));
        from += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
}

void connection_receive(int socket, void *message, size_t bytes) {
    char *to = message;
    while (bytes > 0) {
        ssize_t arrived = recv(socket, to, bytes, 0);
        fail_if(arrived == 0, __func__, "the other end has closed the connection");
        fail_if(arrived < 0 && errno != EINTR, __func__, "from the other end: %s", strerror(errno));
        to += arrived > 0 ? arrived : 0;
        bytes -= arrived > 0 ? (size_t)arrived : 0;
    }
}

static void address_text(int wrong, const struct sockaddr_in *address, char *text, size_t size) {
    fail_if(wrong || getnameinfo((const struct sockaddr *)address, sizeof *address, text,
                                 (socklen_t)size, NULL, 0, NI_NUMERICHOST) != 0,
            __func__, "the address of an end is unknown");
}

void connection_peer(int socket, char *text, size_t size) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    int wrong = getpeername(socket, (struct sockaddr *)&address, &length);
    address_text(wrong, &address, text, size);
}

void connection_own(int socket, char *text, size_t size) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    int wrong = getsockname(socket, (struct sockaddr *)&address, &length);
    address_text(wrong, &address, text, size);
}
