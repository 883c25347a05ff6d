! SPDX-License-Identifier: Apache-2.0
! Bindings of mpif.h, and one of mpi_f08 by the name that it has in the library: its handles are structs of an integer.
! Writes what it received to the file that its argument names, followed by the rank.
program test_fortran
    implicit none
    include 'mpif.h'
    integer :: rank, size, error, total, received
    character(len=4096) :: folder, path
    call mpi_init(error)
    call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
    call mpi_comm_size(MPI_COMM_WORLD, size, error)
    total = rank + 1
    call mpi_allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call mpi_sendrecv(rank, 1, MPI_INTEGER, mod(rank + 1, size), 5, received, 1, MPI_INTEGER, MPI_ANY_SOURCE, &
                      MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call mpi_barrier_f08(MPI_COMM_WORLD, error)
    call get_command_argument(1, folder)
    write (path, '(a, i0)') trim(folder), rank
    open (10, file=trim(path))
    write (10, *) total, received
    close (10)
    call mpi_finalize(error)
end program
