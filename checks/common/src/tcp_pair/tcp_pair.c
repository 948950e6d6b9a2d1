/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
/* Runs a program of two ends over TCP between the hosts of two ranks: rank 0 starts the listening
 * end, then rank 1 the other one. A rank alone writes the listening end's host and port into the
 * file PLACE of its working folder, for who starts the other end elsewhere. Their messages do not
 * pass through MPI, which only places the ranks and provides the evidence of where they ran.
 * tcp_pair PROGRAM [WORD…] @listening [WORD…] @other [WORD…] Words before @listening are for both
 * ends; @host and @port in a word stand for the address of the listening end. */
#include "assay/buffer.h"
#include "assay/child.h"
#include "assay/fail.h"
#include "assay/host_name.h"
#include "assay/report.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define PROGRAM "tcp_pair"
#define TAG 25
#define WORDS 64
#define PATIENCE_S 20
#define PLACE "listening"

/* The address of the listening end. */
struct place {
    int port;
    char host[HOST_BYTES];
};

/* 1 if a socket of this host listens on port, by the kernel's tables. */
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

/* The words of one end: those before @listening, and those after `own`. The first @host or @port in
 * a word is replaced; such words are never freed. */
static void choose_words(char **argv, const char *own, const struct place *place, char **words) {
    int taken = 1, count = 0;
    char port[16];
    snprintf(port, sizeof port, "%d", place->port);
    for (char **word = argv + 1; *word; word++) {
        if (strcmp(*word, "@listening") == 0 || strcmp(*word, "@other") == 0) {
            taken = strcmp(*word, own) == 0;
            continue;
        }
        if (!taken)
            continue;
        char *host_at = strstr(*word, "@host"), *at = host_at ? host_at : strstr(*word, "@port");
        words[count] = *word;
        if (at) {
            size_t room = strlen(*word) + HOST_BYTES;
            words[count] = buffer_make(room, 1);
            snprintf(words[count], room, "%.*s%s%s", (int)(at - *word), *word,
                     host_at ? place->host : port, at + strlen("@host"));
        }
        count++;
    }
    words[count] = NULL;
}

/* The file appears with all that it says. */
static void write_place(const struct place *place) {
    FILE *file = fopen(PLACE ".new", "w");
    int wrong = !file || fprintf(file, "%s %d\n", place->host, place->port) < 0;
    wrong |= file && fclose(file) != 0;
    fail_if(wrong || rename(PLACE ".new", PLACE) != 0, PROGRAM, "cannot write the file %s", PLACE);
}

/* Start the listening end on a free port; returns where it is. */
static struct place start_listening(char **argv, pid_t *started) {
    const struct timespec nap = {0, 5000000};
    char *words[WORDS];
    struct place place = {0, ""};
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    int free_port = socket(AF_INET, SOCK_STREAM, 0);
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    fail_if(free_port < 0 || bind(free_port, (struct sockaddr *)&address, size) != 0 ||
                getsockname(free_port, (struct sockaddr *)&address, &size) != 0,
            PROGRAM, "no free TCP port on this host");
    close(free_port);
    place.port = ntohs(address.sin_port);
    host_name(place.host);
    choose_words(argv, "@listening", &place, words);
    pid_t child = *started = child_start(words);
    for (int naps = 0; !listens(place.port); naps++) {
        fail_if(child_has_ended(child), PROGRAM, "%s ended at once", words[0]);
        fail_if(naps > PATIENCE_S * 200, PROGRAM, "%s does not listen on port %d", words[0],
                place.port);
        nanosleep(&nap, NULL);
    }
    return place;
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fail_all(ranks > 2, PROGRAM, "found %d ranks, allowed are 1 and 2", ranks);
    fail_all(argc < 2 || argc > WORDS, PROGRAM,
             "found %d words, allowed are PROGRAM and at most %d more", argc - 1, WORDS - 2);
    pid_t child;
    struct place place;
    if (rank == 0) {
        place = start_listening(argv, &child);
        if (ranks == 1)
            write_place(&place);
        else
            MPI_Send(&place, (int)sizeof place, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    } else {
        char *words[WORDS];
        MPI_Status status;
        MPI_Recv(&place, (int)sizeof place, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
        choose_words(argv, "@other", &place, words);
        child = child_start(words);
    }
    child_finish(child, argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        putchar('\n'); /* the child's text may lack its last newline */
        report_note_text("carried_by", ranks == 1 ? "sockets of rank 0's host and of another"
                                                  : "sockets of the hosts of ranks 0 and 1");
        report_end(PROGRAM, 1);
    }
    MPI_Finalize();
    return 0;
}
