! SPDX-License-Identifier: Apache-2.0
! Ten rounds of a ring and of a sum, for test_profile.py.
program ring
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(2)
#else
  use mpi
  implicit none
  integer :: requests(2)
#endif
  integer :: error, rank, ranks, round, to, from
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
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call MPI_Allreduce(out(1), total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
end program
