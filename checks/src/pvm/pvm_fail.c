/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include "pvm_fail.h"

#include "common/fail.h"
#include "common/json.h"

#include <pvm3.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#define PARTNER_FAILED SIGUSR1

static struct {
    int other; /* task id, 0 while unknown */
    int is_partner;
} tasks;

static void partner_failed(int signal) {
    static const char line[] =
        "{\"assay\":\"error\",\"where\":\"partner\",\"message\":\"the partner "
        "task failed; its daemon's log says why\",\"rank\":1}\n";
    (void)signal;
    ssize_t written = write(STDOUT_FILENO, line, sizeof line - 1);
    _exit(written < 0 ? FAIL_STATUS + 1 : FAIL_STATUS);
}

void pvm_fail_partner(int partner, int is_partner) {
    struct sigaction action = {.sa_handler = partner_failed};
    tasks.other = partner;
    tasks.is_partner = is_partner;
    if (!is_partner)
        sigaction(PARTNER_FAILED, &action, NULL);
}

static void leave(const char *where, const char *format, va_list values, int wrong) {
    char message[1024];
    struct json line;
    vsnprintf(message, sizeof message, format, values);
    json_begin(&line);
    json_string(&line, "assay", "error");
    json_string(&line, "where", where);
    json_string(&line, "message", message);
    json_integer(&line, "rank", tasks.is_partner);
    if (wrong)
        json_boolean(&line, "wrong", 1);
    json_write(&line, stdout);
    if (tasks.other > 0) {
        if (tasks.is_partner)
            pvm_sendsig(tasks.other, PARTNER_FAILED);
        else
            pvm_kill(tasks.other);
        pvm_exit();
    }
    exit(FAIL_STATUS);
}

#define DEFINE_FAIL(name, wrong)                                                                   \
    void name(int condition, const char *where, const char *format, ...) {                         \
        va_list values;                                                                            \
        if (!condition)                                                                            \
            return;                                                                                \
        va_start(values, format);                                                                  \
        leave(where, format, values, wrong);                                                       \
        va_end(values);                                                                            \
    }

DEFINE_FAIL(fail_if, 0)
DEFINE_FAIL(fail_all, 0)
DEFINE_FAIL(fail_answer, 1)

int pvm_done(int result, const char *call) {
    fail_if(result < 0, call, "PVM error %d: %s", result, pvm_strerror());
    return result;
}
