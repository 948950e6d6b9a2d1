/* SPDX-License-Identifier: Apache-2.0 */
#include "witness.h"

#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/host_name.h"
#include "assay/json.h"
#include "assay/library.h"
#include "evidence/arrivals.h"
#include "evidence/rank_facts.h"
#include "pvm_fail.h"

#include <pvm3.h>
#include <stdlib.h>
#include <string.h>

#define FACTS_TAG 2
#define PROBE_TAG 3
#define ARRIVED_TAG 4
#define PROBE_BYTES 262144L
#define FACTS_BYTES 65536 /* a JSON object with up to 8192 cores */

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

/* Send the probe after the receiver has read its counter. */
static void probe_out(int other, char *buffer) {
    receive_long(other, ARRIVED_TAG);
    pvm_done(pvm_psend(other, PROBE_TAG, buffer, PROBE_BYTES, PVM_BYTE), "pvm_psend");
}

static long probe_in(int other, char *buffer) {
    struct arrivals before = arrivals_read("");
    send_long(other, ARRIVED_TAG, 0);
    pvm_done(pvm_precv(other, PROBE_TAG, buffer, PROBE_BYTES, PVM_BYTE, NULL, NULL, NULL),
             "pvm_precv");
    return arrivals_since("", &before, PROBE_BYTES);
}

static void ask(int other, const char *facts, const char *host, char *buffer) {
    char partners_facts[FACTS_BYTES], partners_host[HOST_BYTES], text[LIBRARY_TEXT];
    struct json line;
    double start = timing_monotonic();
    pvm_done(pvm_recv(other, FACTS_TAG), "pvm_recv");
    pvm_done(pvm_upkstr(partners_facts), "pvm_upkstr");
    pvm_done(pvm_upkstr(partners_host), "pvm_upkstr");
    probe_out(other, buffer);
    long out = receive_long(other, ARRIVED_TAG), in = probe_in(other, buffer);
    double probe_s = timing_monotonic() - start;
    json_begin_line(&line, "evidence");
    library_version(text, sizeof text);
    json_string(&line, "library", text);
    library_file(text, sizeof text);
    json_string(&line, "library_file", text);
    json_open(&line, "ranks", '[');
    json_raw(&line, NULL, facts);
    json_raw(&line, NULL, partners_facts);
    json_close(&line, ']');
    json_open(&line, "links", '[');
    if (strcmp(host, partners_host) != 0) {
        arrivals_add_link(&line, 0, 1, host, partners_host, PROBE_BYTES, out);
        arrivals_add_link(&line, 1, 0, partners_host, host, PROBE_BYTES, in);
    }
    json_close(&line, ']');
    json_number(&line, "probe_s", probe_s);
    fail_if(json_write(&line, stdout) != 0, "witness", "the evidence could not be written");
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
    host_name(host);
    (is_partner ? answer : ask)(other, facts, host, buffer);
    free(facts);
    free(buffer);
}
