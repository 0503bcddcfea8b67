/* A strip of a Jacobi iteration per rank: halo exchange, smoothing, and the largest change among all ranks every few steps.
 *
 *   mpicc -O2 jacobi.c -o jacobi && mpiexec -n 2 ./jacobi [rows per rank] [columns] [steps] [steps per check]
 *
 * Rank 0 prints the seconds of all steps, once all ranks have begun. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rows = argc > 1 ? atoi(argv[1]) : 200, columns = argc > 2 ? atoi(argv[2]) : 2000;
    int steps = argc > 3 ? atoi(argv[3]) : 200, every = argc > 4 ? atoi(argv[4]) : 10;
    double *now = calloc((size_t)(rows + 2) * columns, sizeof *now);
    double *next = calloc((size_t)(rows + 2) * columns, sizeof *next);
    if (!now || !next || rows < 1 || columns < 3 || steps < 1 || every < 1) MPI_Abort(MPI_COMM_WORLD, 2);
    for (int j = 0; j < columns; j++) now[j] = next[j] = rank == 0;
    int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime(), change = 0;
    for (int step = 1; step <= steps; step++) {
        double *last = now + (size_t)rows * columns;
        MPI_Sendrecv(now + columns, columns, MPI_DOUBLE, up, 1, last + columns, columns, MPI_DOUBLE, down, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(last, columns, MPI_DOUBLE, down, 2, now, columns, MPI_DOUBLE, up, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        double largest = 0;
        for (int i = 1; i <= rows; i++) {
            double *row = now + (size_t)i * columns, *into = next + (size_t)i * columns;
            for (int j = 1; j < columns - 1; j++) {
                into[j] = 0.25 * (row[j - 1] + row[j + 1] + row[j - columns] + row[j + columns]);
                largest = fmax(largest, fabs(into[j] - row[j]));
            }
        }
        if (rank == 0)
            for (int j = 0; j < columns; j++) next[j] = 1;
        double *swap = now;
        now = next;
        next = swap;
        if (step % every == 0) MPI_Allreduce(&largest, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("seconds %.6f change %.9f\n", MPI_Wtime() - begun, change);
    MPI_Finalize();
    return 0;
}
