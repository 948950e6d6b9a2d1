/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sigtimedwait, prctl */
/* stepkeeper READY_FILE COMMAND [ARGUMENT…]
 *
 * Keeps the daemons of a job step: LAM's and PVM's boot commands leave daemons behind, and whether
 * those live and die with their Slurm step depends on how Slurm tracks processes. The keeper runs
 * COMMAND, writes its exit status (a line with a number; 128 + signal if it was killed) to
 * READY_FILE when it has ended (written aside and renamed, so that it is there whole or not at all;
 * "-" prints "stepkeeper: STATUS" to standard output instead, for a reader on another host) and
 * stays in the foreground until all descendants are gone. It is their child subreaper: daemons that
 * leave their parents become its children.
 *
 * On SIGTERM, SIGINT, SIGHUP or when its own parent dies it ends the descendants: SIGTERM, after
 * 2 s SIGKILL. Before it leaves it removes the System V segments and semaphores left by the dead.
 *
 * Exit status: COMMAND's if that is not 0 (daemons already started are ended then); 0 when all
 * descendants have left by themselves or on a signal; 2 for wrong usage or a system error. */
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

static sigset_t waited_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, PARENT_DIED);
    return set;
}

static pid_t start(char **command, const sigset_t *waited) {
    pid_t pid = fork();
    if (pid < 0)
        die("cannot fork for", command[0]);
    if (pid > 0)
        return pid;
    sigprocmask(SIG_UNBLOCK, waited, NULL);
    execvp(command[0], command);
    fprintf(stderr, "stepkeeper: cannot run %s: %s\n", command[0], strerror(errno));
    _exit(127);
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

/* Collect the dead. 0 when no child is left (and with the subreaper that means no descendant). */
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

/* Wait for descendants to end, at most `seconds`. 0 when none is left. */
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

static void end_descendants(struct keeper *keeper) {
    descendants_signal(SIGTERM);
    if (!drain(keeper, GRACE_S))
        return;
    for (int round = 0; round < 50; round++) { /* again for what was born meanwhile */
        descendants_signal(SIGKILL);
        if (!drain(keeper, 0.1))
            return;
    }
}

/* PR_SET_PDEATHSIG goes by the parent's thread: the signal counts only if the parent is gone. */
static int must_end(const struct keeper *keeper, int signal) {
    if (signal == PARENT_DIED)
        return getppid() != keeper->parent;
    return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

static void keep(struct keeper *keeper, const sigset_t *waited) {
    while (reap(keeper)) {
        if (!keeper->running && keeper->status != 0)
            break; /* the command failed: what it started goes too */
        int signal = sigwaitinfo(waited, NULL);
        if (signal > 0 && must_end(keeper, signal))
            break;
    }
    end_descendants(keeper);
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: stepkeeper READY_FILE COMMAND [ARGUMENT...]\n");
        return USAGE_STATUS;
    }
    struct keeper keeper = {argv[1], 0, getppid(), 0, 1, time(NULL)};
    sigset_t waited = waited_signals();
    sigprocmask(SIG_BLOCK, &waited, NULL);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_PDEATHSIG, PARENT_DIED) != 0)
        die("cannot become a subreaper for", argv[2]);
    if (getppid() != keeper.parent) {
        fprintf(stderr, "stepkeeper: the parent died before %s was started\n", argv[2]);
        return USAGE_STATUS;
    }
    keeper.command = start(argv + 2, &waited);
    keep(&keeper, &waited);
    leftovers_remove(keeper.since);
    return keeper.status;
}
