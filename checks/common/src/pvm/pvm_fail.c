/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include "pvm_fail.h"

#include "assay/fail.h"
#include "assay/fail_line.h"
#include "assay/json.h"

#include <pvm3.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARTNER_FAILED SIGUSR1
#define EXITED_TAG 90
#define PART_TAG 91

static struct {
    int other; /* task id, 0 while unknown */
    int is_partner;
    int handler; /* of PVM's message that the other task has ended */
    char *error; /* what a failure of the partner prints, made before the signal */
} tasks;

static void partner_failed(int signal) {
    (void)signal;
    ssize_t written = write(STDOUT_FILENO, tasks.error, strlen(tasks.error));
    if (written >= 0)
        written = write(STDOUT_FILENO, "\n", 1);
    _exit(written < 0 ? FAIL_STATUS + 1 : FAIL_STATUS);
}

static char *partner_error(void) {
    struct json line;
    json_begin_line(&line, "error");
    json_string(&line, "where", "partner");
    json_string(&line, "message", "the partner task failed; its daemon's log says why");
    json_integer(&line, "rank", 1);
    char *text = json_take(&line);
    fail_if(!text, "partner", "out of memory");
    return text;
}

static void end(const char *where, const char *format, va_list values, int wrong) {
    fail_line(where, format, values, tasks.is_partner, wrong);
    int other = tasks.other;
    tasks.other = 0; /* its end is expected from now on */
    if (other > 0) {
        if (tasks.is_partner)
            pvm_sendsig(other, PARTNER_FAILED);
        else
            pvm_kill(other);
        pvm_exit();
    }
    exit(FAIL_STATUS);
}

DEFINE_FAIL(fail_if, end, 0)
DEFINE_FAIL(fail_all, end, 0)
DEFINE_FAIL(fail_answer, end, 1)

int pvm_done(int result, const char *call) {
    fail_if(result < 0, call, "PVM error %d: %s", result, pvm_strerror());
    return result;
}

/* libpvm calls this from any of its calls that receive messages. */
static int exited(int message) {
    (void)message;
    int early = tasks.other > 0;
    tasks.other = 0; /* no task left to end */
    fail_if(early, "partner", "the partner task ended early");
    return 0;
}

void pvm_fail_partner(int partner, int is_partner) {
    struct sigaction action = {.sa_handler = partner_failed};
    tasks.other = partner;
    tasks.is_partner = is_partner;
    if (is_partner)
        return;
    tasks.error = partner_error();
    sigaction(PARTNER_FAILED, &action, NULL);
    tasks.handler = pvm_done(pvm_addmhf(-1, EXITED_TAG, -1, exited), "pvm_addmhf");
    pvm_done(pvm_notify(PvmTaskExit, EXITED_TAG, 1, &partner), "pvm_notify");
}

void pvm_fail_part(void) {
    if (tasks.is_partner) {
        pvm_done(pvm_recv(tasks.other, PART_TAG), "pvm_recv");
    } else {
        pvm_done(pvm_delmhf(tasks.handler), "pvm_delmhf");
        pvm_done(pvm_initsend(PvmDataRaw), "pvm_initsend");
        pvm_done(pvm_send(tasks.other, PART_TAG), "pvm_send");
    }
    tasks.other = 0;
}
