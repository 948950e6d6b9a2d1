/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sigtimedwait, prctl */
/* stepkeeper READY_FILE COMMAND [ARGUMENT…]
 *
 * Ties daemons to their job step: LAM's and PVM's boot commands leave daemons behind, and whether
 * those survive and end with their Slurm step depends on how Slurm tracks processes. The keeper
 * runs COMMAND and, when it has ended, writes its exit status (a line with a number; 128 + signal
 * if it was killed) to READY_FILE, atomically by renaming; "-" prints "stepkeeper: STATUS" on
 * standard output instead, for a reader on another host. It stays in the foreground until all
 * descendants have ended. It is their child subreaper: daemons that leave their parents become its
 * children.
 *
 * On SIGTERM, SIGINT, SIGHUP or when its own parent dies it ends the descendants: SIGTERM, after 2
 * s SIGKILL. Before it exits it removes the System V segments and semaphores of dead processes.
 *
 * Exit status: COMMAND's if that is not 0 (its daemons are ended then); 0 when all descendants have
 * ended by themselves or on a signal; 2 for wrong usage or a system error. */
#include "descendants.h"
#include "leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define USAGE_STATUS 2
#define GRACE_S 2.0
#define PARENT_DIED SIGUSR1

struct keeper {
    const char *ready_file;
    pid_t command, parent;
    int status;  /* the command's, once it has ended */
    int running; /* the command has not ended yet */
    time_t since;
};

static void die(const char *what, const char *name) {
    fprintf(stderr, "stepkeeper: %s %s: %s\n", what, name, strerror(errno));
    exit(USAGE_STATUS);
}

static double monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void write_ready(const struct keeper *keeper) {
    if (strcmp(keeper->ready_file, "-") == 0) {
        printf("stepkeeper: %d\n", keeper->status);
        fflush(stdout);
        return;
    }
    char aside[4096];
    if (snprintf(aside, sizeof aside, "%s.%ld", keeper->ready_file, (long)getpid()) >=
        (int)sizeof aside)
        return;
    FILE *file = fopen(aside, "w");
    if (file && fprintf(file, "%d\n", keeper->status) > 0 && fclose(file) == 0 &&
        rename(aside, keeper->ready_file) == 0)
        return;
    fprintf(stderr, "stepkeeper: cannot write %s: %s\n", keeper->ready_file, strerror(errno));
}

/* Reap ended children. 0 when no child is left, which for a subreaper means no descendant. */
static int reap(struct keeper *keeper) {
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != keeper->command)
            continue;
        keeper->running = 0;
        keeper->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        write_ready(keeper);
    }
    return pid == 0;
}

/* Wait at most `seconds` for descendants to end. 0 when none is left. */
static int drain(struct keeper *keeper, double seconds) {
    const struct timespec pause = {0, 20000000};
    double end = monotonic() + seconds;
    while (reap(keeper)) {
        if (monotonic() >= end)
            return 1;
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Until no descendant is left, the command has failed, or a signal asks to end; then end them. */
static void keep(struct keeper *keeper, const sigset_t *waited) {
    int ending = 0;
    while (!ending && reap(keeper)) {
        if (!keeper->running && keeper->status != 0)
            break; /* the command failed: end what it started */
        int signal = sigwaitinfo(waited, NULL);
        if (signal ==
            PARENT_DIED) /* sent when the parent's thread ends: is the process gone too? */
            ending = getppid() != keeper->parent;
        else
            ending = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
    }
    descendants_signal(SIGTERM);
    int left = drain(keeper, GRACE_S);
    for (int round = 0; round < 50 && left; round++) { /* again for those created meanwhile */
        descendants_signal(SIGKILL);
        left = drain(keeper, 0.1);
    }
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: stepkeeper READY_FILE COMMAND [ARGUMENT...]\n");
        return USAGE_STATUS;
    }
    char **command = argv + 2;
    struct keeper keeper = {argv[1], 0, getppid(), 0, 1, time(NULL)};
    sigset_t waited;
    sigemptyset(&waited);
    sigaddset(&waited, SIGTERM);
    sigaddset(&waited, SIGINT);
    sigaddset(&waited, SIGHUP);
    sigaddset(&waited, SIGCHLD);
    sigaddset(&waited, PARENT_DIED);
    sigprocmask(SIG_BLOCK, &waited, NULL);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_PDEATHSIG, PARENT_DIED) != 0)
        die("cannot become a subreaper for", command[0]);
    if (getppid() != keeper.parent) {
        fprintf(stderr, "stepkeeper: the parent died before %s was started\n", command[0]);
        return USAGE_STATUS;
    }
    keeper.command = fork();
    if (keeper.command < 0)
        die("cannot fork for", command[0]);
    if (keeper.command == 0) {
        sigprocmask(SIG_UNBLOCK, &waited, NULL);
        execvp(command[0], command);
        fprintf(stderr, "stepkeeper: cannot run %s: %s\n", command[0], strerror(errno));
        _exit(127);
    }
    keep(&keeper, &waited);
    leftovers_remove(keeper.since);
    return keeper.status;
}
