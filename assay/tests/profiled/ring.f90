! SPDX-License-Identifier: Apache-2.0
! Ten rounds of a ring and of a sum, for test_profile.py.
program ring
  use mpi
  implicit none
  integer :: error, rank, ranks, round, to, from, requests(2), statuses(MPI_STATUS_SIZE, 2)
  real(8) :: out(100), in(100), total
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  to = mod(rank + 1, ranks)
  from = mod(rank + ranks - 1, ranks)
  out = rank
  do round = 1, 10
    call MPI_Irecv(in, 100, MPI_DOUBLE_PRECISION, from, 1, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(out, 100, MPI_DOUBLE_PRECISION, to, 1, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, statuses, error)
    call MPI_Allreduce(out(1), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
end program
