/* What a recorder has to get right: receives from anybody, nobody as a partner, derived types, communicators,
 * prepared requests, all forms of waiting, collectives whose counts only the root knows. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, fails = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    /* Anybody, in the order of arrival; each sends as many integers as its rank. */
    int room[64] = {0};
    if (rank == 0) {
        MPI_Request open[64];
        for (int k = 1; k < size; k++) MPI_Irecv(room, 64, MPI_INT, MPI_ANY_SOURCE, 7, world, &open[k]);
        for (int left = size - 1; left > 0; left--) {
            int index;
            MPI_Waitany(size - 1, open + 1, &index, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Send(room, rank, MPI_INT, 0, 7, world);
    }
    /* A line of ranks: the ends talk to nobody. */
    int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 3, &got, 1, MPI_INT, left, 3, world, MPI_STATUS_IGNORE);
    fails += got != (rank ? rank - 1 : -1);
    MPI_Request edge[2];
    MPI_Irecv(&got, 1, MPI_INT, right, 4, world, &edge[0]);
    MPI_Isend(&rank, 1, MPI_INT, left, 4, world, &edge[1]);
    MPI_Waitall(2, edge, MPI_STATUSES_IGNORE);
    fails += right != MPI_PROC_NULL && got != rank + 1;
    /* A column of a matrix: 10 of 100 numbers. */
    double matrix[100] = {0};
    MPI_Datatype column;
    MPI_Type_vector(10, 1, 10, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Bcast(matrix, 1, column, size - 1, world);
    /* Halves of the world, and the even ranks. */
    MPI_Comm half, even;
    MPI_Comm_split(world, rank < size / 2 ? 5 : MPI_UNDEFINED, -rank, &half);
    if (half != MPI_COMM_NULL) {
        int sum = 0;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half);
        fails += sum != (size / 2) * (size / 2 - 1) / 2;
        MPI_Comm_free(&half);
    }
    MPI_Group all, some;
    int range[1][3] = {{0, (size - 1) / 2 * 2, 2}};
    MPI_Comm_group(world, &all);
    MPI_Group_range_incl(all, 1, range, &some);
    MPI_Comm_create(world, some, &even);
    if (even != MPI_COMM_NULL) MPI_Barrier(even);
    /* Prepared once, used three times. */
    MPI_Request pair[2];
    MPI_Send_init(&rank, 1, MPI_INT, (rank + 1) % size, 9, world, &pair[0]);
    MPI_Recv_init(&got, 1, MPI_INT, (rank + size - 1) % size, 9, world, &pair[1]);
    for (int k = 0; k < 3; k++) {
        MPI_Startall(2, pair);
        MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
        fails += got != (rank + size - 1) % size;
    }
    MPI_Request_free(&pair[0]);
    MPI_Request_free(&pair[1]);
    /* Counts that only the root knows. */
    int counts[64], starts[64], own[64] = {0}, gathered[64 * 64];
    for (int k = 0; k < size; k++) counts[k] = k + 1, starts[k] = k * 64;
    MPI_Gatherv(own, rank + 1, MPI_INT, gathered, rank == 1 ? counts : NULL, rank == 1 ? starts : NULL, MPI_INT, 1, world);
    MPI_Request later;
    MPI_Iallreduce(MPI_IN_PLACE, &got, 1, MPI_INT, MPI_MAX, world, &later);
    int done = 0;
    while (!done) MPI_Test(&later, &done, MPI_STATUS_IGNORE);
    fails += got != size - 1;
    /* Looks until it is there. */
    if (rank == 1) MPI_Ssend(own, 5, MPI_INT, 0, 11, world);
    if (rank == 0) {
        MPI_Status status;
        for (done = 0; !done;) MPI_Iprobe(MPI_ANY_SOURCE, 11, world, &done, &status);
        MPI_Recv(own, 64, MPI_INT, status.MPI_SOURCE, 11, world, MPI_STATUS_IGNORE);
    }
    printf("rank %d check %d\n", rank, fails);
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
