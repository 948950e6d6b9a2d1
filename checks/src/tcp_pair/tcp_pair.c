/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* fork, nanosleep, gethostname */
/* Runs a program of two ends over TCP, such as NetPIPE's NPtcp, between the hosts of two ranks:
 * rank 0 starts the listening end, rank 1 the other with `-h HOST` when it listens. Nothing of MPI
 * carries their messages; MPI places the ranks and proves where they were. */
#include "common/fail.h"
#include "common/report.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define PROGRAM "tcp_pair"
#define TAG 25
#define HOST_BYTES 256
#define WORDS 64
#define PATIENCE_S 20

static void pause_a_moment(void) {
    struct timespec moment = {0, 5000000L};
    nanosleep(&moment, NULL);
}

/* A port that nobody listens on now. */
static int free_port(void) {
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    int found = socket(AF_INET, SOCK_STREAM, 0);
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    fail_if(found < 0 || bind(found, (struct sockaddr *)&address, size) != 0 ||
                getsockname(found, (struct sockaddr *)&address, &size) != 0,
            __func__, "no free TCP port on this host");
    close(found);
    return ntohs(address.sin_port);
}

/* Whether some socket of this host listens on port, by the kernel's own tables. */
static int listens(int port) {
    static const char *const tables[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    char line[512];
    int found = 0;
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(tables[i], "r");
        while (file && fgets(line, sizeof line, file)) {
            unsigned local = 0, state = 0;
            if (sscanf(line, " %*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &local, &state) == 2 &&
                (int)local == port && state == 0x0A)
                found = 1;
        }
        if (file)
            fclose(file);
    }
    return found;
}

static pid_t start(char **words) {
    pid_t child = fork();
    if (child == 0) {
        execv(words[0], words);
        _exit(127);
    }
    fail_if(child < 0, __func__, "cannot start %s", words[0]);
    return child;
}

/* Sleeps until the child has ended, so that it has the core. */
static void finish(pid_t child, const char *name) {
    int status = 0;
    waitpid(child, &status, 0);
    fail_if(!WIFEXITED(status) || WEXITSTATUS(status) != 0, PROGRAM, "%s ended with status %d",
            name, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static pid_t start_listening(char **words) {
    int port = free_port(), waited = 0, status;
    char text[16], host[HOST_BYTES] = "";
    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "%d", port);
    int count = 0;
    while (words[count])
        count++;
    words[count] = "-P";
    words[count + 1] = text;
    words[count + 2] = "-o";
    words[count + 3] = "netpipe.listening.out";
    pid_t child = start(words);
    for (; !listens(port); waited++) {
        fail_if(waitpid(child, &status, WNOHANG) == child, PROGRAM, "%s ended at once", words[0]);
        fail_if(waited > PATIENCE_S * 200, PROGRAM, "%s does not listen on port %d", words[0],
                port);
        pause_a_moment();
    }
    MPI_Send(&port, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    MPI_Send(host, HOST_BYTES, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
    return child;
}

static pid_t start_other(char **words) {
    static char text[16], host[HOST_BYTES];
    MPI_Status status;
    int port, count = 0;
    MPI_Recv(&port, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &status);
    MPI_Recv(host, HOST_BYTES, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &status);
    snprintf(text, sizeof text, "%d", port);
    while (words[count])
        count++;
    words[count] = "-h";
    words[count + 1] = host;
    words[count + 2] = "-P";
    words[count + 3] = text;
    words[count + 4] = "-o";
    words[count + 5] = "netpipe.out";
    return start(words);
}

int main(int argc, char **argv) {
    char *words[WORDS] = {NULL};
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fail_all(ranks != 2, PROGRAM, "found %d ranks, allowed are exactly 2", ranks);
    fail_all(argc < 2 || argc > WORDS - 8, PROGRAM,
             "found %d words, allowed are PROGRAM and at most %d options", argc - 1, WORDS - 10);
    memcpy(words, argv + 1, (size_t)(argc - 1) * sizeof *words);
    if (rank == 0)
        report_program(PROGRAM, NULL, 0);
    pid_t child = rank == 0 ? start_listening(words) : start_other(words);
    finish(child, words[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        report_note_text("carried_by", "TCP between the hosts of ranks 0 and 1");
        report_end(PROGRAM, 1);
    }
    MPI_Finalize();
    return 0;
}
