/* SPDX-License-Identifier: Apache-2.0 */
/* Small programs with different mixes of MPI calls, to hold `assay advise`
 * against.
 *
 * Usage: proxy MIX FACTOR STEPS WORK. A step computes WORK times 1000
 * multiplications and additions on each rank, then communicates: messages are
 * FACTOR times as long as written below. halo     messages of 6000 bytes to and
 * from both neighbours of a ring, a sum of 8 bytes sums     three sums of 8,
 * 256 and 2048 bytes spectral an exchange of all with all of 12000 bytes a pair
 * of ranks master   a broadcast of 20000 bytes, a reduction of 4000, a gather
 * of 1000 chain    a message of 3000 bytes from rank to rank: all wait for the
 * one before Rank 0 prints the seconds that the slowest rank needed, and a sum
 * that no mix may change. */
#include <mpi.h>
#ifdef SIMULATED
#include <smpi/smpi.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GREATEST = 1 << 22 };
static char *sent, *taken;
/* Not known to the compiler, which would compute the result itself. */
static volatile double start = 1;

static double computed(int work, double value) {
#ifdef SIMULATED
  smpi_execute(4e-6 * work);
#else
  for (long i = 0; i < 1000L * work; i++)
    value = value * 0.999999 + 1e-6;
#endif
  return value;
}

static void halo(int factor, int rank, int ranks) {
  MPI_Request requests[4];
  MPI_Status statuses[4];
  int length = 6000 * factor, left = (rank + ranks - 1) % ranks,
      right = (rank + 1) % ranks;
  double one = 1, all;
  MPI_Irecv(taken, length, MPI_BYTE, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(taken + length, length, MPI_BYTE, right, 2, MPI_COMM_WORLD,
            &requests[1]);
  MPI_Isend(sent, length, MPI_BYTE, right, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(sent, length, MPI_BYTE, left, 2, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, statuses);
  MPI_Allreduce(&one, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void sums(int factor) {
  const int doubles[] = {1, 32, 256};
  for (int i = 0; i < 3; i++)
    MPI_Allreduce(sent, taken, doubles[i] * factor, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
}

static void master(int factor) {
  MPI_Bcast(sent, 20000 * factor, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Reduce(sent, taken, 500 * factor, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Gather(sent, 1000 * factor, MPI_BYTE, taken, 1000 * factor, MPI_BYTE, 0,
             MPI_COMM_WORLD);
}

static void chain(int factor, int rank, int ranks) {
  int length = 3000 * factor;
  MPI_Status status;
  if (rank > 0)
    MPI_Recv(taken, length, MPI_BYTE, rank - 1, 3, MPI_COMM_WORLD, &status);
  if (rank < ranks - 1)
    MPI_Send(sent, length, MPI_BYTE, rank + 1, 3, MPI_COMM_WORLD);
}

static int step(const char *mix, int factor, int rank, int ranks) {
  if (!strcmp(mix, "halo"))
    halo(factor, rank, ranks);
  else if (!strcmp(mix, "sums"))
    sums(factor);
  else if (!strcmp(mix, "spectral"))
    MPI_Alltoall(sent, 12000 * factor, MPI_BYTE, taken, 12000 * factor,
                 MPI_BYTE, MPI_COMM_WORLD);
  else if (!strcmp(mix, "master"))
    master(factor);
  else if (!strcmp(mix, "chain"))
    chain(factor, rank, ranks);
  else
    return 0;
  return 1;
}

int main(int argc, char **argv) {
  int rank, ranks, factor = argc > 2 ? atoi(argv[2]) : 0,
                   steps = argc > 3 ? atoi(argv[3]) : 0;
  int work = argc > 4 ? atoi(argv[4]) : -1, known = 1;
  double value = start, begun, own, slowest;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  sent = calloc(GREATEST, 1);
  taken = calloc(GREATEST, 1);
  if (factor < 1 || factor > 16 || steps < 1 || work < 0 || !sent || !taken)
    MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 0; i < 3; i++)
    known = step(argv[1], factor, rank, ranks);
  if (!known)
    MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Barrier(MPI_COMM_WORLD);
  begun = MPI_Wtime();
  for (int i = 0; i < steps; i++) {
    value = computed(work, value);
    step(argv[1], factor, rank, ranks);
  }
  own = MPI_Wtime() - begun;
  MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("seconds: %.6f\nvalue: %.3f\n", slowest, value);
  MPI_Finalize();
  return 0;
}
