/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "partner.h"

#include "assay/fail.h"
#include "pvm_fail.h"

#include <limits.h>
#include <pvm3.h>
#include <stdlib.h>

static const char *choose_host(int within_node) {
    struct pvmhostinfo *hosts = NULL;
    int count = 0, own = pvm_tidtohost(pvm_mytid());
    pvm_done(pvm_config(&count, NULL, &hosts), "pvm_config");
    for (int i = 0; i < count; i++)
        if ((hosts[i].hi_tid == own) == within_node)
            return hosts[i].hi_name;
    fail_if(1, __func__, "found %d hosts in the virtual machine, allowed are 2 or more", count);
    return NULL;
}

static int spawn(char **argv, int within_node) {
    char program[PATH_MAX];
    const char *host = choose_host(within_node);
    int partner = 0;
    fail_if(!realpath("/proc/self/exe", program), __func__, "this program's path is unknown");
    int started = pvm_spawn(program, argv + 1, PvmTaskHost, (char *)host, 1, &partner);
    fail_if(started != 1, __func__, "no task on %s: PVM error %d", host,
            started < 0 ? started : partner);
    return partner;
}

int partner_meet(char **argv, int within_node, int *is_partner) {
    pvm_done(pvm_mytid(), "pvm_mytid");
    int other = pvm_parent();
    *is_partner = other > 0;
    if (!*is_partner)
        other = spawn(argv, within_node);
    pvm_fail_partner(other, *is_partner);
    return other;
}
