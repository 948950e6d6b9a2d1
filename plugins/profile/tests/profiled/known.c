/* SPDX-License-Identifier: Apache-2.0 */
/* known WHAT: programs whose profile is known, for test_profile.py.
 *   late      rank 1 sends 1000 bytes 10 ms after rank 0 came, 20 times
 *   early     rank 0 asks for them 10 ms after rank 1 came, 20 times
 *   barrier   rank 1 comes to 20 barriers 10 ms after rank 0
 *   overlap   20 exchanges of 1000 bytes, 10 ms between posting and waiting
 *   sizes N   N messages of N sizes to the next rank
 *   together  10 times three messages of 1 to 3 bytes, completed together
 *   later     calls of MPI-3; rank 1 comes to the first 200 ms after rank 0
 *   spawn     two more ranks of itself, a message to one of them
 *   killed    at least 100 messages for at least 2.5 s, then SIGKILL
 *   abort     one message, then MPI_Abort
 *   absent    a message of 4 GiB to MPI_PROC_NULL, and one byte gathered to
 *             rank 0 through an intercommunicator, without a type there */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, ranks;
static char out[1 << 22], in[1 << 22];

/* The other rank goes on; the sleeper does so this long after the other. */
static void come_after(int sleeper, int pause_us) {
    static int coming = -1;
    char one = 1;
    if (coming < 0) {
        mkfifo("known.coming", 0600);
        coming = open("known.coming", O_RDWR);
    }
    if (rank != sleeper)
        write(coming, &one, 1);
    else if (read(coming, &one, 1) == 1)
        usleep(pause_us);
}

static void late(int sleeper) {
    MPI_Status status;
    for (int round = 0; round < 20; round++) {
        come_after(sleeper, 10000);
        if (rank == 1)
            MPI_Send(out, 1000, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(in, 1000, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        if (rank == 0)
            MPI_Send(out, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
        else
            MPI_Recv(in, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &status);
    }
}

static void barriers(void) {
    for (int round = 0; round < 20; round++) {
        come_after(1, 10000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void exchange(int bytes, int pause_us) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(in, bytes, MPI_CHAR, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_CHAR, (rank + 1) % ranks, 1, MPI_COMM_WORLD, &requests[1]);
    if (pause_us)
        usleep(pause_us);
    MPI_Waitall(2, requests, statuses);
}

static void together(void) {
    for (int round = 0; round < 10; round++) {
        MPI_Request requests[6];
        MPI_Status statuses[6];
        for (int part = 0; part < 3; part++) {
            MPI_Irecv(in + 3 * part, 3, MPI_CHAR, (rank + ranks - 1) % ranks, part, MPI_COMM_WORLD,
                      &requests[part]);
            MPI_Isend(out, part + 1, MPI_CHAR, (rank + 1) % ranks, part, MPI_COMM_WORLD,
                      &requests[3 + part]);
        }
        MPI_Waitall(6, requests, statuses);
    }
}

static void absent(void) {
    MPI_Datatype large;
    MPI_Comm own, between;
    MPI_Type_contiguous(1 << 30, MPI_INT, &large);
    MPI_Type_commit(&large);
    MPI_Send(out, 1, large, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 1 - rank, 0, &between);
    if (rank == 0)
        MPI_Gather(NULL, 0, MPI_DATATYPE_NULL, in, 1, MPI_CHAR, MPI_ROOT, between);
    else
        MPI_Gather(out, 1, MPI_CHAR, NULL, 0, MPI_DATATYPE_NULL, 0, between);
}

/* Blocks of 8 bytes: to each, from each. */
static void nonblocking(void) {
    static const int counts[] = {8, 8}, places[] = {0, 8};
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Comm ring;
    int period = 1;
    come_after(1, 200000);
    MPI_Ialltoallv(out, counts, places, MPI_CHAR, in, counts, places, MPI_CHAR, MPI_COMM_WORLD,
                   &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Igatherv(out, 8, MPI_CHAR, in, counts, places, MPI_CHAR, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Iscatterv(out, counts, places, MPI_CHAR, in + 16, 8, MPI_CHAR, 0, MPI_COMM_WORLD,
                  &requests[1]);
    MPI_Iallgatherv(out, 8, MPI_CHAR, in + 24, counts, places, MPI_CHAR, MPI_COMM_WORLD,
                    &requests[2]);
    MPI_Ireduce_scatter(out, in + 40, counts, MPI_CHAR, MPI_BOR, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &period, 0, &ring);
    MPI_Neighbor_alltoallv(out, counts, places, MPI_CHAR, in, counts, places, MPI_CHAR, ring);
}

static void one_sided(void) {
    MPI_Request request;
    MPI_Win window;
    int one = 1, before;
    void *base;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_lock_all(0, window);
    MPI_Rput(out, 8, MPI_CHAR, 1 - rank, 8, 8, MPI_CHAR, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Fetch_and_op(&one, &before, MPI_INT, 1 - rank, 0, MPI_REPLACE, window);
    MPI_Win_flush_all(window);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

static void spawn(char *program, MPI_Comm parent) {
    char *words[] = {"spawn", NULL};
    int number = 1;
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(program, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent,
                       MPI_ERRCODES_IGNORE);
        if (rank == 0)
            MPI_Send(&number, 1, MPI_INT, 0, 0, parent);
    } else if (rank == 0)
        MPI_Recv(&number, 1, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv) {
    const char *what = argv[1];
    MPI_Comm parent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double begun = MPI_Wtime();
    if (!strcmp(what, "late") || !strcmp(what, "early"))
        late(!strcmp(what, "late"));
    else if (!strcmp(what, "barrier"))
        barriers();
    else if (!strcmp(what, "together"))
        together();
    else if (!strcmp(what, "absent"))
        absent();
    else if (!strcmp(what, "later")) {
        nonblocking();
        one_sided();
    } else if (!strcmp(what, "spawn")) {
        MPI_Comm_get_parent(&parent);
        spawn(argv[0], parent);
    } else if (!strcmp(what, "sizes"))
        for (int size = 0; size < atoi(argv[2]); size++)
            exchange(size, 0);
    else if (!strcmp(what, "overlap"))
        for (int round = 0; round < 20; round++)
            exchange(1000, 10000);
    else
        exchange(1000, 0);
    if (!strcmp(what, "killed")) {
        for (int sent = 0; sent < 100 || MPI_Wtime() - begun < 2.5; sent++)
            exchange(1000, 1000);
        raise(SIGKILL);
    }
    if (!strcmp(what, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Finalize();
    return 0;
}
