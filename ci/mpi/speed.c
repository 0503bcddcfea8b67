/* Many small calls: `pingpong N` between two ranks, or `halo N` on a torus of two columns. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pingpong(int turns, int rank) {
    char data[1024] = {0};
    for (int i = 0; i < turns; i++) {
        if (rank == 0) MPI_Send(data, sizeof data, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, sizeof data, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(data, sizeof data, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
}

static void halo(int turns, int rank, int size) {
    static double sent[4][1000], received[4][1000];
    int rows = size / 2, x = rank % 2, y = rank / 2;
    int right = y * 2 + 1 - x, above = (y + 1) % rows * 2 + x, below = (y + rows - 1) % rows * 2 + x;
    int neighbours[4] = {right, right, above, below}, opposite[4] = {1, 0, 3, 2};
    for (int i = 0; i < turns; i++) {
        MPI_Request requests[8];
        for (int k = 0; k < 4; k++)
            MPI_Irecv(received[k], 1000, MPI_DOUBLE, neighbours[k], opposite[k], MPI_COMM_WORLD, requests + k);
        for (int k = 0; k < 4; k++)
            MPI_Isend(sent[k], 1000, MPI_DOUBLE, neighbours[k], k, MPI_COMM_WORLD, requests + 4 + k);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 3 && !strcmp(argv[1], "pingpong"))
        pingpong(atoi(argv[2]), rank);
    else if (argc == 3)
        halo(atoi(argv[2]), rank, size);
    if (rank == 0) printf("end %.9f\n", MPI_Wtime());
    MPI_Finalize();
    return 0;
}
