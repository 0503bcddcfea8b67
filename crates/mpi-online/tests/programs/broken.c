/* Programs that go wrong, each in its own way. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int rank, size, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(how, "crash") && rank == 1)
        abort();
    if (!strcmp(how, "exit") && rank == 1)
        exit(0);
    if (!strcmp(how, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (!strcmp(how, "deadlock"))
        MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "rank"))
        MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "long")) {
        char big[64] = {0};
        MPI_Request request;
        MPI_Isend(big, 64, MPI_CHAR, rank, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(&value, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "poll") && rank == 0) {
        MPI_Request request;
        int done = 0;
        MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
