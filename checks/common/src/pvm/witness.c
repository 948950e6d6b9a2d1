/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "witness.h"

#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/json.h"
#include "assay/library.h"
#include "evidence/arrivals.h"
#include "evidence/rank_facts.h"
#include "pvm_fail.h"

#include <pvm3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FACTS_TAG 2
#define PROBE_TAG 3
#define ARRIVED_TAG 4
#define PROBE_BYTES 262144L
#define FACTS_BYTES 65536 /* a JSON object with up to 8192 cores */
#define COUNTER_WAITS 50  /* times 1 ms: counters of some cards lag */

static void send_long(int other, int tag, long value) {
    pvm_done(pvm_initsend(PvmDataRaw), "pvm_initsend");
    pvm_done(pvm_pklong(&value, 1, 1), "pvm_pklong");
    pvm_done(pvm_send(other, tag), "pvm_send");
}

static long receive_long(int other, int tag) {
    long value = 0;
    pvm_done(pvm_recv(other, tag), "pvm_recv");
    pvm_done(pvm_upklong(&value, 1, 1), "pvm_upklong");
    return value;
}

/* Bytes that arrived at this node since `before`, -1 if its counters cannot be read. */
static long arrived_since(long before) {
    const struct timespec moment = {0, 1000000};
    long arrived = -1;
    for (int wait = 0; wait <= COUNTER_WAITS && before >= 0; wait++) {
        arrived = arrivals_read() - before;
        if (arrived >= PROBE_BYTES)
            break;
        nanosleep(&moment, NULL);
    }
    return arrived;
}

/* The receiver says when its counter is read, so that nothing of the probe is missed. */
static void probe_out(int other, char *buffer) {
    receive_long(other, ARRIVED_TAG);
    pvm_done(pvm_psend(other, PROBE_TAG, buffer, PROBE_BYTES, PVM_BYTE), "pvm_psend");
}

static long probe_in(int other, char *buffer) {
    long before = arrivals_read();
    send_long(other, ARRIVED_TAG, 0);
    pvm_done(pvm_precv(other, PROBE_TAG, buffer, PROBE_BYTES, PVM_BYTE, NULL, NULL, NULL),
             "pvm_precv");
    return arrived_since(before);
}

static void add_link(struct json *line, const char *hosts[2], int from, long arrived) {
    json_open(line, NULL, '{');
    json_integer(line, "from", from);
    json_integer(line, "to", 1 - from);
    json_string(line, "from_host", hosts[from]);
    json_string(line, "to_host", hosts[1 - from]);
    json_integer(line, "sent_bytes", PROBE_BYTES);
    json_integer(line, "arrived_bytes", arrived < 0 ? 0 : arrived);
    json_close(line, '}');
}

static void print(const char *own, const char *partners, const char *hosts[2], const long *arrived,
                  double probe_s) {
    char text[LIBRARY_TEXT];
    struct json line;
    json_begin(&line);
    json_string(&line, "assay", "evidence");
    library_version(text, sizeof text);
    json_string(&line, "library", text);
    library_file(text, sizeof text);
    json_string(&line, "library_file", text);
    json_open(&line, "ranks", '[');
    json_raw(&line, NULL, own);
    json_raw(&line, NULL, partners);
    json_close(&line, ']');
    json_open(&line, "links", '[');
    for (int from = 0; from < 2 && strcmp(hosts[0], hosts[1]) != 0; from++)
        add_link(&line, hosts, from, arrived[from]);
    json_close(&line, ']');
    json_number(&line, "probe_s", probe_s);
    fail_if(json_write(&line, stdout) != 0, "witness", "the evidence could not be written");
}

static void ask(int other, const char *facts, const char *host, char *buffer) {
    char partners_facts[FACTS_BYTES], partners_host[HOST_BYTES];
    long arrived[2];
    double start = timing_monotonic();
    pvm_done(pvm_recv(other, FACTS_TAG), "pvm_recv");
    pvm_done(pvm_upkstr(partners_facts), "pvm_upkstr");
    pvm_done(pvm_upkstr(partners_host), "pvm_upkstr");
    probe_out(other, buffer);
    arrived[0] = receive_long(other, ARRIVED_TAG);
    arrived[1] = probe_in(other, buffer);
    const char *hosts[2] = {host, partners_host};
    print(facts, partners_facts, hosts, arrived, timing_monotonic() - start);
}

static void answer(int other, const char *facts, const char *host, char *buffer) {
    pvm_done(pvm_initsend(PvmDataRaw), "pvm_initsend");
    pvm_done(pvm_pkstr((char *)facts), "pvm_pkstr");
    pvm_done(pvm_pkstr((char *)host), "pvm_pkstr");
    pvm_done(pvm_send(other, FACTS_TAG), "pvm_send");
    send_long(other, ARRIVED_TAG, probe_in(other, buffer));
    probe_out(other, buffer);
}

void witness(int other, int is_partner, double start_s) {
    char host[HOST_BYTES];
    char *facts = rank_facts(is_partner, start_s), *buffer = calloc(1, PROBE_BYTES);
    fail_if(!facts || !buffer || strlen(facts) >= FACTS_BYTES, __func__, "out of memory");
    rank_host(host);
    (is_partner ? answer : ask)(other, facts, host, buffer);
    free(facts);
    free(buffer);
}
