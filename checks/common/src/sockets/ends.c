/* SPDX-License-Identifier: Apache-2.0 */
#include "ends.h"

#include "assay/fail.h"
#include "assay/report.h"
#include "connection.h"

struct ends ends;

int ends_ask(void) { return ends.host == NULL; }

int ends_connect(const char *program) {
    fail_if(ends.port == 0, program, "option --port: found none, allowed is one of 1 to 65535");
    return ends_ask() ? connection_accept((int)ends.port)
                      : connection_call(ends.host, (int)ends.port);
}

void ends_agree(int *batch, void *connection) {
    int socket = *(int *)connection;
    if (ends_ask())
        connection_send(socket, batch, sizeof *batch);
    else
        connection_receive(socket, batch, sizeof *batch);
}

void ends_report(const char *program, const struct timer *timer, int connection) {
    char peer[64], own[64];
    connection_peer(connection, peer, sizeof peer);
    connection_own(connection, own, sizeof own);
    report_timer(timer);
    report_note_text("peer_address", peer);
    report_note_text("own_address", own);
    report_end(program, 1);
}
