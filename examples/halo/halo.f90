! SPDX-License-Identifier: Apache-2.0
! halo.cpp in Fortran: the same switches but --window and --odd, the same checksum. With preprocessing (-cpp):
!   mpi_f08 as it is; -DUSE_MPI for `use mpi`; -DMPIF_H for mpif.h (gfortran: and -fallow-argument-mismatch).
#if defined(MPIF_H) || defined(USE_MPI)
#define COMMUNICATOR integer
#define DATATYPE integer
#define REQUEST integer
#else
#define COMMUNICATOR type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define REQUEST type(MPI_Request)
#endif

module halo_options
    use, intrinsic :: iso_fortran_env, only: int64, real64, error_unit
    implicit none
    integer :: rows = 256, columns = 256  ! of a rank's tile
    integer :: shape_(2) = 0              ! of the ranks; 0: as MPI_Dims_create likes
    integer :: iterations = 50
    integer :: work = 1                   ! sweeps of the stencil between two exchanges
    logical :: huge_pages = .true.
    logical :: small_blocks = .false.     ! east and west straight from the grid, in blocks of 8 bytes
    integer :: late_rank = -1
    real(real64) :: late_s = 0
    integer :: notes = 0                  ! small messages to the next rank in each iteration
    logical :: is_flood = .false.         ! their receives are posted too late
    integer :: note_bytes = 1024
    logical :: fresh = .false.            ! new buffers for each exchange
contains
    ! Returns an empty line, or what is wrong.
    function parse() result(wrong)
        character(len=120) :: wrong
        character(len=60) :: name, text
        integer :: i, bad
        wrong = ''
        i = 1
        do while (i <= command_argument_count())
            call get_command_argument(i, name)
            if (name == '--fresh') then
                fresh = .true.
            else
                i = i + 1
                call get_command_argument(i, text)
                bad = set(trim(name), trim(text))
                if (bad /= 0) wrong = trim(name)//' '//trim(text)//': no such option or value; see README.md'
            end if
            i = i + 1
        end do
        if (min(rows, columns, iterations, work) < 1 .or. notes < 0 .or. note_bytes < 8) &
            wrong = 'rows, columns, iterations and work are at least 1, notes 0, their bytes 8'
    end function

    integer function set(name, text) result(bad)
        character(len=*), intent(in) :: name, text
        integer :: at
        bad = 0
        at = scan(text, 'x:')
        select case (name)
        case ('--size')
            read (text(:at - 1), *, iostat=bad) rows
            if (bad == 0) read (text(at + 1:), *, iostat=bad) columns
        case ('--grid')
            read (text(:at - 1), *, iostat=bad) shape_(1)
            if (bad == 0) read (text(at + 1:), *, iostat=bad) shape_(2)
        case ('--late')
            read (text(:at - 1), *, iostat=bad) late_rank
            if (bad == 0) read (text(at + 1:), *, iostat=bad) late_s
        case ('--iterations')
            read (text, *, iostat=bad) iterations
        case ('--work')
            read (text, *, iostat=bad) work
        case ('--notes', '--flood')
            read (text, *, iostat=bad) notes
            is_flood = name == '--flood'
        case ('--note-bytes')
            read (text, *, iostat=bad) note_bytes
        case ('--pages')
            huge_pages = text == 'huge'
            if (text /= 'huge' .and. text /= 'small') bad = 1
        case ('--blocks')
            small_blocks = text == '8'
            if (text /= '8' .and. text /= 'packed') bad = 1
        case default
            bad = 1
        end select
    end function
end module

! Buffers on the pages that were asked for.
module halo_memory
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: real64
    implicit none
    integer(c_size_t), parameter :: huge_page_bytes = 2097152_c_size_t
    type :: buffer
        type(c_ptr) :: memory = c_null_ptr
        real(real64), pointer, contiguous :: cells(:) => null()
    end type
    interface
        function c_malloc(bytes) bind(c, name='malloc')
            import :: c_ptr, c_size_t
            type(c_ptr) :: c_malloc
            integer(c_size_t), value :: bytes
        end function
        function c_aligned(alignment, bytes) bind(c, name='aligned_alloc')
            import :: c_ptr, c_size_t
            type(c_ptr) :: c_aligned
            integer(c_size_t), value :: alignment, bytes
        end function
        subroutine c_free(memory) bind(c, name='free')
            import :: c_ptr
            type(c_ptr), value :: memory
        end subroutine
        integer(c_int) function c_madvise(memory, bytes, advice) bind(c, name='madvise')
            import :: c_ptr, c_size_t, c_int
            type(c_ptr), value :: memory
            integer(c_size_t), value :: bytes
            integer(c_int), value :: advice
        end function
        integer(c_int) function c_usleep(microseconds) bind(c, name='usleep')
            import :: c_int
            integer(c_int), value :: microseconds
        end function
    end interface
contains
    subroutine allocate_buffer(to, cells, huge_pages)
        type(buffer), intent(out) :: to
        integer, intent(in) :: cells
        logical, intent(in) :: huge_pages
        integer(c_size_t) :: bytes
        integer(c_int) :: ignored
        bytes = 8_c_size_t * cells
        if (huge_pages) then
            bytes = (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes
            to%memory = c_aligned(huge_page_bytes, bytes)
            ignored = c_madvise(to%memory, bytes, 14_c_int)  ! MADV_HUGEPAGE
        else
            to%memory = c_malloc(bytes)
        end if
        call c_f_pointer(to%memory, to%cells, [cells])
    end subroutine
    subroutine free_buffer(it)
        type(buffer), intent(inout) :: it
        call c_free(it%memory)
        it%memory = c_null_ptr
        it%cells => null()
    end subroutine
end module

module halo_exchange
#if defined(USE_MPI)
    use mpi
#elif !defined(MPIF_H)
    use mpi_f08
#endif
    use halo_options
    use halo_memory
    implicit none
#if defined(MPIF_H)
    include 'mpif.h'
#endif
    integer, parameter :: north = 1, south = 2, west = 3, east = 4
    integer, parameter :: opposite(4) = [south, north, east, west]
    COMMUNICATOR :: grid
    DATATYPE :: column
    integer :: neighbours(4), rank, ranks, wrong
    real(real64), allocatable :: now(:, :), next(:, :)  ! (0:columns + 1, 0:rows + 1): a row is contiguous
    type(buffer) :: outbox(4), inbox(4)
    integer(1), allocatable :: notes_out(:, :), notes_in(:, :)
    REQUEST, allocatable :: note_sends(:), note_receives(:)
    integer(int64) :: notes_sum = 0, first_row, first_column
contains
    subroutine start(place)
        integer, intent(in) :: place(2)
        integer(int64) :: i, j
        call MPI_Cart_shift(grid, 0, 1, neighbours(north), neighbours(south), wrong)
        call MPI_Cart_shift(grid, 1, 1, neighbours(west), neighbours(east), wrong)
        call MPI_Type_vector(rows, 1, columns + 2, MPI_DOUBLE_PRECISION, column, wrong)
        call MPI_Type_commit(column, wrong)
        allocate (now(0:columns + 1, 0:rows + 1), next(0:columns + 1, 0:rows + 1), source=1.0_real64)
        first_row = int(place(1), int64) * rows
        first_column = int(place(2), int64) * columns
        do i = 1, rows
            do j = 1, columns
                now(j, i) = real(mod(7919 * (first_row + i - 1) + 104729 * (first_column + j - 1), 1000003_int64), &
                                 real64) / 1000.0_real64
            end do
        end do
        if (.not. fresh) call make_buffers()
        allocate (notes_out(note_bytes, notes), notes_in(note_bytes, notes), note_sends(notes), note_receives(notes))
        notes_out = int(rank + 1, 1)
        if (.not. is_flood) call post_notes()
    end subroutine

    subroutine sweep()
        integer :: i, j
        do i = 1, rows
            do j = 1, columns
                next(j, i) = 0.2_real64 * ((now(j, i - 1) + now(j, i + 1)) + (now(j - 1, i) + now(j + 1, i)) + now(j, i))
            end do
        end do
        now(1:columns, 1:rows) = next(1:columns, 1:rows)
    end subroutine

    logical function is_packed(side)
        integer, intent(in) :: side
        is_packed = neighbours(side) /= MPI_PROC_NULL .and. (side <= south .or. .not. small_blocks)
    end function

    integer function cells_of(side)
        integer, intent(in) :: side
        cells_of = merge(columns, rows, side <= south)
    end function

    subroutine make_buffers()
        integer :: side
        do side = 1, 4
            if (.not. is_packed(side)) cycle
            call allocate_buffer(outbox(side), cells_of(side), huge_pages)
            call allocate_buffer(inbox(side), cells_of(side), huge_pages)
        end do
    end subroutine

    subroutine free_buffers()
        integer :: side
        do side = 1, 4
            if (.not. is_packed(side)) cycle
            call free_buffer(outbox(side))
            call free_buffer(inbox(side))
        end do
    end subroutine

    subroutine pack_sides()
        if (is_packed(north)) outbox(north)%cells = now(1:columns, 1)
        if (is_packed(south)) outbox(south)%cells = now(1:columns, rows)
        if (is_packed(west)) outbox(west)%cells = now(1, 1:rows)
        if (is_packed(east)) outbox(east)%cells = now(columns, 1:rows)
    end subroutine

    subroutine unpack_sides()
        if (is_packed(north)) now(1:columns, 0) = inbox(north)%cells
        if (is_packed(south)) now(1:columns, rows + 1) = inbox(south)%cells
        if (is_packed(west)) now(0, 1:rows) = inbox(west)%cells
        if (is_packed(east)) now(columns + 1, 1:rows) = inbox(east)%cells
    end subroutine

    subroutine exchange()
        REQUEST :: requests(8)
        integer :: side, count
        if (fresh) call make_buffers()
        call pack_sides()
        count = 0
        do side = 1, 4
            if (neighbours(side) == MPI_PROC_NULL) cycle
            count = count + 1
            if (is_packed(side)) then
                call MPI_Irecv(inbox(side)%cells, cells_of(side), MPI_DOUBLE_PRECISION, neighbours(side), side, grid, &
                               requests(count), wrong)
            else
                call MPI_Irecv(now(merge(0, columns + 1, side == west), 1), 1, column, neighbours(side), side, grid, &
                               requests(count), wrong)
            end if
        end do
        do side = 1, 4
            if (neighbours(side) == MPI_PROC_NULL) cycle
            count = count + 1
            if (is_packed(side)) then
                call MPI_Isend(outbox(side)%cells, cells_of(side), MPI_DOUBLE_PRECISION, neighbours(side), &
                               opposite(side), grid, requests(count), wrong)
            else
                call MPI_Isend(now(merge(1, columns, side == west), 1), 1, column, neighbours(side), opposite(side), &
                               grid, requests(count), wrong)
            end if
        end do
        call MPI_Waitall(count, requests, MPI_STATUSES_IGNORE, wrong)
        call unpack_sides()
        if (fresh) call free_buffers()
    end subroutine

    subroutine post_notes()
        integer :: i
        do i = 1, notes
            call MPI_Irecv(notes_in(:, i), note_bytes, MPI_BYTE, mod(rank + ranks - 1, ranks), 9, grid, &
                           note_receives(i), wrong)
        end do
    end subroutine

    subroutine send_notes()
        integer :: i
        do i = 1, notes
            call MPI_Isend(notes_out(:, i), note_bytes, MPI_BYTE, mod(rank + 1, ranks), 9, grid, note_sends(i), wrong)
        end do
    end subroutine

    subroutine receive_notes(is_last)
        logical, intent(in) :: is_last
        if (is_flood) call post_notes()
        call MPI_Waitall(notes, note_receives, MPI_STATUSES_IGNORE, wrong)
        notes_sum = notes_sum + sum(int(notes_in(1, :), int64))
        if (.not. (is_flood .or. is_last)) call post_notes()
        call MPI_Waitall(notes, note_sends, MPI_STATUSES_IGNORE, wrong)
    end subroutine

    integer(int64) function checksum()
        integer :: i, j, turn
        checksum = ishft(notes_sum, mod(rank, 8))
        do i = 1, rows
            do j = 1, columns
                turn = int(1 + mod(31 * (first_row + i - 1) + first_column + j - 1, 63_int64))
                checksum = ieor(checksum, ishftc(transfer(now(j, i), 0_int64), turn))
            end do
        end do
    end function
end module

program halo
    use halo_exchange
    implicit none
    integer :: place(2), i, j
    integer(c_int) :: ignored
    integer(int64) :: bits
    real(real64) :: loop_s
    character(len=120) :: fault
    character(len=20) :: seconds
    call MPI_Init(wrong)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, wrong)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, wrong)
    fault = parse()
    if (product(shape_) == 0) call MPI_Dims_create(ranks, 2, shape_, wrong)
    if (fault == '' .and. product(shape_) /= ranks) fault = '--grid takes as many ranks as there are'
    if (fault /= '') then
        if (rank == 0) write (error_unit, '(2a)') 'halo: ', trim(fault)
        call MPI_Finalize(wrong)
        stop 2, quiet=.true.
    end if
    call MPI_Cart_create(MPI_COMM_WORLD, 2, shape_, [.false., .false.], .false., grid, wrong)
    call MPI_Comm_rank(grid, rank, wrong)
    call MPI_Cart_coords(grid, rank, 2, place, wrong)
    call start(place)
    call MPI_Barrier(grid, wrong)
    loop_s = MPI_Wtime()
    do i = 1, iterations
        call send_notes()
        do j = 1, work
            call sweep()
        end do
        if (rank == late_rank) ignored = c_usleep(int(late_s * 1e6, c_int))
        call receive_notes(i == iterations)
        call exchange()
    end do
    loop_s = MPI_Wtime() - loop_s
    call MPI_Allreduce(MPI_IN_PLACE, loop_s, 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid, wrong)
    bits = checksum()
    call MPI_Allreduce(MPI_IN_PLACE, bits, 1, MPI_INTEGER8, MPI_BXOR, grid, wrong)
    if (rank == 0) then
        write (*, '(7(a, i0), a)') 'halo: ', ranks, ' ranks ', shape_(1), ' x ', shape_(2), ', tiles of ', rows, &
            ' x ', columns, ', ', iterations, ' iterations'
        write (*, '(a, z16.16)') 'checksum ', bits
        write (seconds, '(f20.6)') loop_s
        write (*, '(3a)') 'loop ', trim(adjustl(seconds)), ' s'
    end if
    call MPI_Type_free(column, wrong)
    call MPI_Comm_free(grid, wrong)
    call MPI_Finalize(wrong)
end program
