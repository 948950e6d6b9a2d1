/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* glob, nanosleep */
#include "arrivals.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATH_BYTES 1024
/* What a port of an old adapter shows for ever once it has counted so far. */
#define SATURATED 4294967295LL

/* A counter below an interface's folder, and the bytes that one of its units stands for. */
struct counter {
    const char *file;
    int unit;
};

/* The first that can be read counts. port_rcv_data is in units of 4 bytes whatever the adapter;
 * Omni-Path (hfi1) has RxWords alone, EFA rx_bytes. */
static const struct counter rdma_counters[] = {{"counters_ext/port_rcv_data_64", 4},
                                               {"counters/port_rcv_data", 4},
                                               {"hw_counters/RxWords", 4},
                                               {"hw_counters/rx_bytes", 1}};
/* Its content is VALUE@SECONDS. */
static const struct counter cxi_counters[] = {{"device/telemetry/hni_sts_rx_ok_octets", 1}};

static int read_number(const char *path, long long *value) {
    FILE *file = fopen(path, "r");
    int found = file && fscanf(file, "%lld", value) == 1 && *value >= 0;
    if (file)
        fclose(file);
    return found;
}

/* Add what the interfaces at a pattern have received. */
static void add_interfaces(struct arrivals *now, enum arrivals_way way, const char *root,
                           const char *pattern, const struct counter *counters, size_t count) {
    char path[PATH_BYTES];
    glob_t interfaces;
    snprintf(path, sizeof path, "%s%s", root, pattern);
    if (glob(path, 0, NULL, &interfaces) != 0)
        return;
    for (size_t i = 0; i < interfaces.gl_pathc; i++) {
        int found = 0;
        for (size_t c = 0; c < count && !found; c++) {
            long long value;
            snprintf(path, sizeof path, "%s/%s", interfaces.gl_pathv[i], counters[c].file);
            found = read_number(path, &value) && value != SATURATED;
            if (found)
                now->bytes[way] += counters[c].unit * value;
        }
        if (!found)
            now->blind |= 1U << way;
    }
    globfree(&interfaces);
}

struct arrivals arrivals_read(const char *root) {
    char line[512], name[64], path[PATH_BYTES];
    struct arrivals now = {{0}, 0};
    long long received;
    snprintf(path, sizeof path, "%s/proc/self/net/dev", root);
    FILE *file = fopen(path, "r");
    if (!file)
        now.blind |= 1U << ARRIVALS_NET;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, " %63[^: ]: %lld", name, &received) == 2 && strcmp(name, "lo") != 0)
            now.bytes[ARRIVALS_NET] += received;
    if (file)
        fclose(file);
    add_interfaces(&now, ARRIVALS_RDMA, root, "/sys/class/infiniband/*/ports/*", rdma_counters,
                   sizeof rdma_counters / sizeof *rdma_counters);
    add_interfaces(&now, ARRIVALS_CXI, root, "/sys/class/cxi/cxi*", cxi_counters,
                   sizeof cxi_counters / sizeof *cxi_counters);
    return now;
}

/* Bytes on the way that received most since before. */
static long most(const struct arrivals *now, const struct arrivals *before) {
    long long found = 0;
    for (int way = 0; way < ARRIVALS_WAYS; way++)
        if (now->bytes[way] - before->bytes[way] > found)
            found = now->bytes[way] - before->bytes[way];
    return (long)found;
}

long arrivals_since(const char *root, const struct arrivals *before, long expected) {
    const struct timespec nap = {0, 1000000};
    struct arrivals now = arrivals_read(root);
    int more = now.bytes[ARRIVALS_RDMA] > 0 || now.bytes[ARRIVALS_CXI] > 0;
    for (int naps = more ? 1000 : 50; naps > 0 && most(&now, before) < expected; naps--) {
        nanosleep(&nap, NULL);
        now = arrivals_read(root);
    }
    long arrived = most(&now, before);
    return arrived < expected && (before->blind | now.blind) ? -1 : arrived;
}

void arrivals_add_link(struct json *line, int from, int to, const char *from_host,
                       const char *to_host, long sent_bytes, long arrived) {
    json_open(line, NULL, '{');
    json_integer(line, "from", from);
    json_integer(line, "to", to);
    json_string(line, "from_host", from_host);
    json_string(line, "to_host", to_host);
    json_integer(line, "sent_bytes", sent_bytes);
    json_integer(line, "arrived_bytes", arrived < 0 ? 0 : arrived);
    if (arrived < 0)
        json_string(line, "problem", "interface counters of to_host cannot be read");
    json_close(line, '}');
}
