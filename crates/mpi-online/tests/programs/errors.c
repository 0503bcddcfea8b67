/* Errors that a program lets return: each CK checks a result. */
#include <mpi.h>
#include <stdio.h>

#define CK(x)                                                               \
    do {                                                                    \
        if (!(x)) {                                                         \
            printf("rank %d FAIL line %d: %s\n", rank, __LINE__, #x);       \
            fails++;                                                        \
        }                                                                   \
    } while (0)

static int handled, rank, size, fails;

static void handler(MPI_Comm *comm, int *code, ...) {
    MPI_Error_class(*code, &handled);
}

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, a[8] = {0}, b[8], n;
    MPI_Request q[2];
    MPI_Status st, all[2];
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    /* What is cut off is an error of the receive, and the rest goes on. */
    MPI_Isend(a, 8, MPI_INT, next, 51, world, q);
    CK(class_of(MPI_Recv(b, 4, MPI_INT, before, 51, world, &st)) == MPI_ERR_TRUNCATE);
    MPI_Wait(q, &st);
    MPI_Irecv(b, 2, MPI_INT, before, 52, world, q);
    MPI_Irecv(b + 4, 2, MPI_INT, before, 53, world, q + 1);
    MPI_Send(a, 8, MPI_INT, next, 52, world);
    MPI_Send(a, 2, MPI_INT, next, 53, world);
    CK(class_of(MPI_Waitall(2, q, all)) == MPI_ERR_IN_STATUS);
    CK(class_of(all[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
    MPI_Irecv(b, 1, MPI_INT, before, 54, world, q);
    MPI_Send(a, 2, MPI_INT, next, 54, world);
    CK(class_of(MPI_Wait(q, &st)) == MPI_ERR_TRUNCATE && q[0] == MPI_REQUEST_NULL);
    CK(class_of(MPI_Send(a, -1, MPI_INT, 0, 0, world)) == MPI_ERR_COUNT);
    CK(class_of(MPI_Send(a, 1, MPI_INT, 0, -5, world)) == MPI_ERR_TAG);
    CK(class_of(MPI_Recv(a, 1, MPI_INT, size, 0, world, &st)) == MPI_ERR_RANK);
    CK(class_of(MPI_Send(a, 1, MPI_DATATYPE_NULL, 0, 0, world)) == MPI_ERR_TYPE);
    CK(class_of(MPI_Bcast(a, 1, MPI_INT, size, world)) == MPI_ERR_ROOT);
    CK(class_of(MPI_Comm_rank(MPI_COMM_NULL, &n)) == MPI_ERR_COMM);
    CK(class_of(MPI_Group_size(MPI_GROUP_NULL, &n)) == MPI_ERR_GROUP);
    CK(class_of(MPI_Allreduce(a, b, 1, MPI_INT, MPI_OP_NULL, world)) == MPI_ERR_OP);
    CK(class_of(MPI_Cart_coords(world, 0, 1, &n)) == MPI_ERR_TOPOLOGY);
    MPI_Errhandler own;
    MPI_Comm copy;
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_dup(world, &copy);
    MPI_Comm_set_errhandler(copy, own);
    MPI_Send(a, 1, MPI_INT, size + 3, 0, copy);
    CK(handled == MPI_ERR_RANK);
    MPI_Errhandler_free(&own);
    MPI_Comm_free(&copy);
    MPI_Barrier(world);
    printf("rank %d end %.9f check %d\n", rank, MPI_Wtime(), fails);
    MPI_Finalize();
    return fails != 0;
}
