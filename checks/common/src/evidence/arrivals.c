/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* glob, nanosleep */
#include "arrivals.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

long arrivals_read(void) {
    char line[512], name[64];
    long total = 0, received;
    glob_t ports;
    FILE *file = fopen("/proc/self/net/dev", "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, " %63[^: ]: %ld", name, &received) == 2 && strcmp(name, "lo") != 0)
            total += received;
    fclose(file);
    if (glob("/sys/class/infiniband/*/ports/*/counters/port_rcv_data", 0, NULL, &ports) != 0)
        return total;
    for (size_t i = 0; i < ports.gl_pathc; i++) {
        file = fopen(ports.gl_pathv[i], "r");
        if (file && fscanf(file, "%ld", &received) == 1)
            total += 4 * received;
        if (file)
            fclose(file);
    }
    globfree(&ports);
    return total;
}

long arrivals_since(long before, long expected) {
    const struct timespec nap = {0, 1000000};
    long arrived = before < 0 ? -1 : arrivals_read() - before;
    for (int naps = 0; naps < 50 && arrived >= 0 && arrived < expected; naps++) {
        nanosleep(&nap, NULL);
        arrived = arrivals_read() - before;
    }
    return arrived;
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
