/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* realpath */
#include "partner.h"

#include "assay/fail.h"
#include "pvm_fail.h"

#include <limits.h>
#include <pvm3.h>
#include <signal.h>
#include <stdlib.h>

int partner_meet(char **argv, int within_node, int *is_partner) {
    /* A message to a partner that has died is an error of PVM's, not a signal. */
    signal(SIGPIPE, SIG_IGN);
    pvm_done(pvm_mytid(), "pvm_mytid");
    int other = pvm_parent();
    *is_partner = other > 0;
    if (!*is_partner) {
        struct pvmhostinfo *hosts = NULL;
        char program[PATH_MAX], *host = NULL;
        int count = 0, own = pvm_tidtohost(pvm_mytid());
        pvm_done(pvm_config(&count, NULL, &hosts), "pvm_config");
        for (int i = 0; i < count && !host; i++)
            if ((hosts[i].hi_tid == own) == within_node)
                host = hosts[i].hi_name;
        fail_if(!host, __func__, "found %d hosts in the virtual machine, allowed are 2 or more",
                count);
        fail_if(!realpath("/proc/self/exe", program), __func__, "this program's path is unknown");
        int started = pvm_spawn(program, argv + 1, PvmTaskHost, host, 1, &other);
        fail_if(started != 1, __func__, "no task on %s: PVM error %d", host,
                started < 0 ? started : other);
    }
    pvm_fail_partner(other, *is_partner);
    return other;
}
