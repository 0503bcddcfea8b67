! Attributes, packing, grids, windows, two groups and errors, in Fortran.
program calls
    use mpi
    implicit none
    integer :: ierr, rank, size, next, before, i, n, key, fails = 0
    integer :: cart, copy, half, inter, both, dims(2), place(2), win, memory(4), position, handle
    integer :: status(MPI_STATUS_SIZE), requests(2), numbers(6), found(6), combined, class
    integer(kind=MPI_ADDRESS_KIND) :: value, bytes, at, addresses(2)
    logical :: flag, periods(2)
    real(8) :: x(3)
    character(len=100) :: text
    external :: twice
    call mpi_init(ierr)
    call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
    call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
    next = mod(rank + 1, size)
    before = mod(rank + size - 1, size)
    value = 7
    call mpi_comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, value, ierr)
    value = 42
    call mpi_comm_set_attr(MPI_COMM_WORLD, key, value, ierr)
    call mpi_comm_dup(MPI_COMM_WORLD, copy, ierr)
    value = 0
    call mpi_comm_get_attr(copy, key, value, flag, ierr)
    call check(flag .and. value == 42, 1)
    call mpi_comm_create_keyval(twice, MPI_COMM_NULL_DELETE_FN, i, value, ierr)
    value = 21
    call mpi_comm_set_attr(copy, i, value, ierr)
    call mpi_comm_free_keyval(key, ierr)
    call mpi_comm_dup(copy, both, ierr)
    call mpi_comm_get_attr(both, i, value, flag, ierr)
    call check(flag .and. value == 42, 2)
    call mpi_comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call check(flag .and. value >= 32767, 3)
    x = dble(rank)
    numbers = (/ (rank * 10 + i, i = 1, 6) /)
    position = 0
    call mpi_pack(numbers, 3, MPI_INTEGER, text, 100, position, MPI_COMM_WORLD, ierr)
    n = position
    position = 0
    call mpi_unpack(text, n, position, found, 3, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check(n == 12 .and. found(3) == rank * 10 + 3, 4)
    dims = 0
    periods = (/ .true., .false. /)
    call mpi_dims_create(size, 2, dims, ierr)
    call mpi_cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., cart, ierr)
    periods = .false.
    call mpi_cart_get(cart, 2, dims, periods, place, ierr)
    call check(periods(1) .and. .not. periods(2), 5)
    memory = rank
    bytes = 16
    call mpi_win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call mpi_win_fence(0, win, ierr)
    at = 2
    n = rank + 50
    call mpi_put(n, 1, MPI_INTEGER, next, at, 1, MPI_INTEGER, win, ierr)
    call mpi_win_fence(0, win, ierr)
    call check(memory(3) == before + 50, 6)
    call mpi_win_get_attr(win, MPI_WIN_SIZE, value, flag, ierr)
    call check(flag .and. value == 16, 7)
    call mpi_win_free(win, ierr)
    call mpi_get_address(numbers(1), addresses(1), ierr)
    call mpi_get_address(numbers(5), addresses(2), ierr)
    addresses = addresses - addresses(1)
    call mpi_type_create_struct(2, (/ 2, 1 /), addresses, (/ MPI_INTEGER, MPI_INTEGER /), handle, ierr)
    call mpi_type_commit(handle, ierr)
    call mpi_isend(numbers, 1, handle, next, 9, MPI_COMM_WORLD, requests(1), ierr)
    call mpi_mprobe(before, 9, MPI_COMM_WORLD, n, status, ierr)
    call mpi_mrecv(found, 3, MPI_INTEGER, n, status, ierr)
    call mpi_wait(requests(1), MPI_STATUS_IGNORE, ierr)
    call check(found(1) == before * 10 + 1 .and. found(3) == before * 10 + 5, 8)
    call mpi_comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
    call mpi_intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mod(rank, 2), 5, inter, ierr)
    call mpi_comm_remote_size(inter, n, ierr)
    call check(n == (size + mod(rank, 2)) / 2, 9)
    call mpi_intercomm_merge(inter, mod(rank, 2) == 1, both, ierr)
    call mpi_allreduce(rank, combined, 1, MPI_INTEGER, MPI_SUM, both, ierr)
    call check(combined == size * (size - 1) / 2, 10)
    call mpi_comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    call mpi_send(numbers, 1, MPI_INTEGER, size + 4, 0, MPI_COMM_WORLD, n)
    call mpi_error_class(n, class, ierr)
    call check(class == MPI_ERR_RANK, 11)
    call mpi_barrier(MPI_COMM_WORLD, ierr)
    print '(a,i0,a,f14.9,a,i0)', 'rank ', rank, ' end ', mpi_wtime(), ' check ', fails
    call mpi_finalize(ierr)
contains
    subroutine check(holds, number)
        logical, intent(in) :: holds
        integer, intent(in) :: number
        if (.not. holds) then
            fails = fails + 1
            print *, 'FAIL', number
        end if
    end subroutine
end program

! Copies twice the value of an attribute.
subroutine twice(comm, key, extra, old, new, flag, ierr)
    use mpi
    implicit none
    integer :: comm, key, ierr
    integer(kind=MPI_ADDRESS_KIND) :: extra, old, new
    logical :: flag
    new = 2 * old
    flag = .true.
    ierr = MPI_SUCCESS
end subroutine
