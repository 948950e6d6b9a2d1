/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep, poll, unsetenv */
/* Runs a program of two ends over PVM, such as NetPIPE's NPpvm, between two hosts of the virtual
 * machine: the receiving end beside a partner task, then the sending end with `-h HOST`, which
 * talks to the only other task. Our two tasks therefore leave PVM before it starts; their evidence
 * is complete by then. pvm_pair [--within-node] PROGRAM [WORD…] */
#include "assay/child.h"
#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/report.h"
#include "partner.h"
#include "pvm_fail.h"
#include "witness.h"

#include <poll.h>
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM "pvm_pair"
#define WORDS 64
#define PATIENCE_S 60

/* Wait until there are two tasks, this one and neither `partner` nor another of ours. */
static void await_receiver(int partner, const char *name) {
    const struct timespec nap = {0, 5 * 1000 * 1000};
    for (int naps = 0;; naps++) {
        struct pvmtaskinfo *tasks = NULL;
        int count = 0, strangers = 0;
        pvm_done(pvm_tasks(0, &count, &tasks), "pvm_tasks");
        for (int i = 0; i < count; i++)
            strangers += tasks[i].ti_tid != partner && tasks[i].ti_tid != pvm_mytid();
        if (count == 2 && strangers == 1)
            return;
        fail_if(naps > PATIENCE_S * 200, PROGRAM, "%s has not joined PVM on the other host", name);
        nanosleep(&nap, NULL);
    }
}

/* Leave PVM and wait until the daemon has forgotten this task, which may be after pvm_exit has
 * returned: then it closes its end of our connection. */
static void leave_pvm(void) {
    char rest[512];
    int *sockets = NULL; /* the first leads to the daemon */
    fail_if(pvm_getfds(&sockets) < 1, PROGRAM, "PVM names no connection to its daemon");
    int kept = dup(sockets[0]);
    struct pollfd end = {kept, POLLIN, 0};
    pvm_exit();
    do {
        int heard = poll(&end, 1, PATIENCE_S * 1000);
        fail_if(heard != 1, PROGRAM, "PVM's daemon has not let this task go");
    } while (read(kept, rest, sizeof rest) > 0);
    close(kept);
}

/* Start the sending end, which takes the first two tasks that the daemon names; were this one of
 * them, it would wait for ever. */
static void transmit(int partner, char **words, int count) {
    char *all[WORDS];
    memcpy(all, words, (size_t)count * sizeof *all);
    all[count] = "-h";
    all[count + 1] = "partner"; /* NPpvm only tests that a host is given */
    all[count + 2] = NULL;
    pvm_fail_part();
    await_receiver(partner, words[0]);
    leave_pvm();
    child_finish(child_start(all), words[0]);
    putchar('\n'); /* the child's text may lack its last newline */
    report_note_text("carried_by", "PVM between two tasks of the program");
    report_end(PROGRAM, 1);
}

int main(int argc, char **argv) {
    double start_s = timing_realtime();
    int within_node = argc > 1 && strcmp(argv[1], "--within-node") == 0, is_partner = 0;
    char **words = argv + 1 + within_node;
    int count = argc - 1 - within_node;
    fail_if(count < 1 || count > WORDS - 3, PROGRAM,
            "found %d words, allowed are PROGRAM and at most %d more", count, WORDS - 4);
    int other = partner_meet(argv, within_node, &is_partner);
    pvm_done(pvm_setopt(PvmRoute, PvmRouteDirect), "pvm_setopt");
    witness(other, is_partner, start_s);
    if (!is_partner) {
        transmit(other, words, count);
        return 0;
    }
    /* PVM regards a spawned task as running until its process has ended and its output is closed,
     * so the receiving end must outlive this one. Without PVMEPID it enrols as a task of its own.
     * If the sending end never ends it, PVM's halt does. */
    pvm_fail_part();
    pvm_exit();
    unsetenv("PVMEPID");
    child_leave_behind(words);
    return 0;
}
