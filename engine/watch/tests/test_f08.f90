! SPDX-License-Identifier: Apache-2.0
! Calls of every kind by the module mpi_f08. Rank 0 prints a sum of each over all ranks: what they received.
program test_f08
    use mpi_f08
    implicit none
    integer, parameter :: n = 16, most = 64
    integer :: rank, size, i
    integer(8) :: sums(11), total(11)
    integer :: mine(n * most), got(n * most), columns(4, n)
    type(MPI_Comm) :: comm
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call renew
    call MPI_Bcast(mine, n, MPI_INTEGER, size - 1, comm)
    sums(1) = sum(int(mine(1:n), 8))
    call renew
    call MPI_Gather(mine, n, MPI_INTEGER, got, n, MPI_INTEGER, 0, comm)
    sums(2) = sum_of_got(n * size)
    call renew
    call MPI_Scatter(mine, n, MPI_INTEGER, got, n, MPI_INTEGER, 0, comm)
    sums(3) = sum_of_got(n)
    call renew
    call MPI_Allgather(mine, n, MPI_INTEGER, got, n, MPI_INTEGER, comm)
    sums(4) = sum_of_got(n * size)
    call renew
    call MPI_Alltoall(mine, n, MPI_INTEGER, got, n, MPI_INTEGER, comm)
    sums(5) = sum_of_got(n * size)
    call renew
    call MPI_Allreduce(mine, got, n, MPI_INTEGER, MPI_MAX, comm)
    sums(6) = sum_of_got(n)
    call renew
    got(1:n) = mine(1:n)
    call MPI_Scan(MPI_IN_PLACE, got, n, MPI_INTEGER, MPI_SUM, comm)
    sums(7) = sum_of_got(n)
    call renew
    call MPI_Iallreduce(mine, got, n, MPI_INTEGER, MPI_SUM, comm, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    sums(8) = sum_of_got(n)
    call renew
    if (rank == 0) call MPI_Send(mine, n, MPI_INTEGER, 1, 7, comm)
    if (rank == 1) call MPI_Recv(got, n, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, status)
    sums(9) = sum_of_got(n)
    if (rank == 1) sums(9) = sums(9) + 100 * status%MPI_TAG + status%MPI_SOURCE
    call renew
    call MPI_Irecv(got, n, MPI_INTEGER, mod(rank + size - 1, size), 8, comm, requests(1))
    call MPI_Isend(mine, n, MPI_INTEGER, mod(rank + 1, size), 8, comm, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    sums(10) = sum_of_got(n)
    call renew
    columns = reshape(mine(1:4 * n), [4, n])
    call MPI_Bcast(columns, 4 * n, MPI_INTEGER, 0, comm)
    sums(11) = sum(int(columns, 8))
    call MPI_Barrier(comm)
    call MPI_Comm_free(comm)
    call MPI_Reduce(sums, total, 11, MPI_INTEGER8, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(11(1x, i0))', total
    call MPI_Finalize()

contains

    subroutine renew
        mine = [(1000 * rank + i, i = 1, n * most)]
        got = -1
    end subroutine

    integer(8) function sum_of_got(count)
        integer, intent(in) :: count
        sum_of_got = sum(int(got(1:count), 8))
    end function

end program
