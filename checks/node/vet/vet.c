/* SPDX-License-Identifier: Apache-2.0 */
/* One step of vetting a node: a figure or two in some seconds, without MPI and without a BLAS, so
 * that any C compiler makes it and any node runs it. Dies with its parent, leaves no file. */
#define _GNU_SOURCE /* sysconf */
#include "vet.h"

#include "assay/args.h"
#include "assay/fail.h"
#include "assay/report.h"
#include "sockets/ends.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PROGRAM "vet"
#define PURPOSE "one step of vetting this node; JSON lines on standard output"

enum step { MEMORY, ARITHMETIC, LATENCY, CORES, DISK, LINK };
static const char *const step_names[] = {"memory", "arithmetic", "latency", "cores",
                                         "disk",   "link",       NULL};

static struct {
    unsigned long steps;
    const char *folder;
    double seconds;
} settings = {1, "/tmp", 2};

static const struct arg options[] = {
    {"step", ARG_CHOICES, &settings.steps, 0, 0, step_names, "what to measure (default memory)"},
    {"seconds", ARG_REAL, &settings.seconds, 0.01, 600, NULL, "about how long each (default 2)"},
    {"folder", ARG_TEXT, &settings.folder, 0, 0, NULL, "of step disk (default /tmp)"},
    ENDS_OPTIONS,
};
#define OPTIONS (sizeof options / sizeof *options)

static void run_step(enum step step) {
    switch (step) {
    case MEMORY:
        work_run(&stream_kernel, settings.seconds, 0);
        break;
    case ARITHMETIC:
        work_run(&dgemm_kernel, settings.seconds, 0);
        break;
    case LATENCY:
        work_run(&latency_kernel, settings.seconds, 1);
        break;
    case CORES:
        core_pairs_run(settings.seconds);
        break;
    case DISK:
        disk_run(settings.folder, settings.seconds);
        break;
    case LINK:
        link_run(settings.seconds);
    }
}

int main(int argc, char **argv) {
    pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        return 1;
    args_read_alone(PROGRAM, PURPOSE, options, OPTIONS, argc, argv);
    report_program(PROGRAM, options, OPTIONS);
    for (int step = MEMORY; step <= LINK; step++)
        if (settings.steps >> step & 1)
            run_step((enum step)step);
    report_end(PROGRAM, 1);
    return 0;
}
