! A token around a ring, a reduction and derived types, in Fortran.
program ring
    use mpi
    implicit none
    integer :: ierr, rank, size, next, prev, token, total, column, count, at
    integer :: status(MPI_STATUS_SIZE), requests(2)
    real(8) :: matrix(4, 3), row(3)
    call mpi_init(ierr)
    call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
    call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
    next = mod(rank + 1, size)
    prev = mod(rank + size - 1, size)
    token = rank
    call mpi_sendrecv_replace(token, 1, MPI_INTEGER, next, 1, prev, 1, MPI_COMM_WORLD, status, ierr)
    if (token /= prev .or. status(MPI_SOURCE) /= prev) print *, 'FAIL token'
    total = rank
    call mpi_allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (total /= size * (size - 1) / 2) print *, 'FAIL sum'
    matrix = rank
    call mpi_type_vector(3, 1, 4, MPI_DOUBLE_PRECISION, column, ierr)
    call mpi_type_commit(column, ierr)
    call mpi_irecv(row, 3, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, requests(1), ierr)
    call mpi_isend(matrix, 1, column, next, 2, MPI_COMM_WORLD, requests(2), ierr)
    call mpi_waitany(1, requests, at, status, ierr)
    call mpi_get_count(status, MPI_DOUBLE_PRECISION, count, ierr)
    if (at /= 1 .or. count /= 3 .or. row(3) /= prev) print *, 'FAIL row'
    call mpi_wait(requests(2), MPI_STATUS_IGNORE, ierr)
    call mpi_barrier(MPI_COMM_WORLD, ierr)
    print '(a,i0,a,f12.9,a)', 'rank ', rank, ' end ', mpi_wtime(), ' check 0'
    call mpi_finalize(ierr)
end program
