/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* fork */
#include "child.h"

#include "fail.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t child_start(char **words) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(words[0], words);
        _exit(127);
    }
    fail_if(child < 0, __func__, "cannot start %s", words[0]);
    return child;
}

void child_leave_behind(char **words) {
    pid_t child = fork();
    fail_if(child < 0, __func__, "cannot start %s", words[0]);
    if (child > 0)
        return;
    int nothing = open("/dev/null", O_RDWR);
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        dup2(nothing, stream);
    execv(words[0], words);
    _exit(127);
}

void child_finish(pid_t child, const char *name) {
    int status = 0;
    waitpid(child, &status, 0);
    fail_if(!WIFEXITED(status) || WEXITSTATUS(status) != 0, __func__, "%s ended with status %d",
            name, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int child_has_ended(pid_t child) { return waitpid(child, NULL, WNOHANG) == child; }
