/* Work that is charged, not measured. */
#include <mpi.h>
#include <slackline.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    slackline_compute((rank + 1) * 1e9);
    usleep(500000);
    char *shared = slackline_shared_malloc("array", 1 << 20);
    if (!shared)
        MPI_Abort(MPI_COMM_WORLD, 1);
    shared[rank] = 1;
    slackline_shared_free(shared);
    MPI_Finalize();
    return 0;
}
