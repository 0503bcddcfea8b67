/* Groups that talk to each other, neighbours, matched probes, types: each CK checks a result. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define CK(x)                                                               \
    do {                                                                    \
        if (!(x)) {                                                         \
            printf("rank %d FAIL line %d: %s\n", rank, __LINE__, #x);       \
            fails++;                                                        \
        }                                                                   \
    } while (0)

static int rank, size, fails;
static const MPI_Comm world = MPI_COMM_WORLD;

/* 2x2 matrices: the order of a product matters. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type) {
    long *a = in, *b = inout;
    for (int k = 0; k < *count; k++, a += 4, b += 4) {
        long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                     a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

static int copied(MPI_Datatype type, int key, void *extra, void *value, void *new, int *flag) {
    *(void **)new = (char *)value + 5;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Datatype type, int key, void *value, void *extra) {
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static void probes(void) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int a[8], b[8], flag, count;
    MPI_Request q[3];
    MPI_Status st;
    MPI_Message message;
    for (int i = 0; i < 8; i++) a[i] = rank * 10 + i;
    MPI_Isend(a, 5, MPI_INT, next, 11, world, q);
    MPI_Isend(a + 2, 6, MPI_INT, next, 12, world, q + 1);
    MPI_Mprobe(before, 12, world, &message, &st);
    MPI_Get_count(&st, MPI_INT, &count);
    CK(count == 6 && st.MPI_SOURCE == before);
    MPI_Mrecv(b, 6, MPI_INT, &message, &st);
    CK(b[0] == before * 10 + 2 && message == MPI_MESSAGE_NULL);
    do MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, &message, &st);
    while (!flag);
    MPI_Imrecv(b, 8, MPI_INT, &message, q + 2);
    MPI_Wait(q + 2, &st);
    CK(b[4] == before * 10 + 4 && st.MPI_TAG == 11);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Mprobe(MPI_PROC_NULL, 1, world, &message, &st);
    CK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(b, 1, MPI_INT, &message, &st);
    CK(st.MPI_SOURCE == MPI_PROC_NULL);
    /* A request that is looked at stays. */
    MPI_Irecv(b, 4, MPI_INT, before, 31, world, q);
    MPI_Send(a, 4, MPI_INT, next, 31, world);
    do MPI_Request_get_status(q[0], &flag, &st);
    while (!flag);
    CK(q[0] != MPI_REQUEST_NULL && st.MPI_TAG == 31);
    MPI_Wait(q, &st);
    CK(st.MPI_SOURCE == before && q[0] == MPI_REQUEST_NULL);
    /* Messages to oneself keep to their communicator. */
    MPI_Isend(a, 1, MPI_INT, rank, 5, world, q);
    MPI_Isend(a + 1, 1, MPI_INT, 0, 6, MPI_COMM_SELF, q + 1);
    MPI_Recv(b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &st);
    CK(b[0] == a[1] && st.MPI_SOURCE == 0 && st.MPI_TAG == 6);
    MPI_Recv(b, 1, MPI_INT, rank, MPI_ANY_TAG, world, &st);
    CK(b[0] == a[0] && st.MPI_TAG == 5);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
}

static void two_groups(void) {
    int side = rank % 2, flag, there, here, me, got = -1, n;
    MPI_Comm half, inter, both, copy;
    MPI_Status st;
    MPI_Comm_split(world, side, rank, &half);
    MPI_Intercomm_create(half, 0, world, 1 - side, 99, &inter);
    MPI_Comm_test_inter(inter, &flag);
    MPI_Comm_remote_size(inter, &there);
    MPI_Comm_size(inter, &here);
    MPI_Comm_rank(inter, &me);
    CK(flag && here + there == size && me == rank / 2);
    int peer = me < there ? me : MPI_PROC_NULL;
    MPI_Sendrecv(&rank, 1, MPI_INT, peer, 3, &got, 1, MPI_INT, peer, 3, inter, &st);
    CK(peer == MPI_PROC_NULL || (got == 2 * me + 1 - side && st.MPI_SOURCE == me));
    MPI_Barrier(inter);
    int root = side == 0 ? (me == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0, value = rank + 7;
    MPI_Bcast(&value, 1, MPI_INT, root, inter);
    CK(value == (side == 0 ? rank + 7 : 7));
    int sum = -1, expected = 0, all[64], blocks[64];
    for (int k = 1 - side; k < size; k += 2) expected += k;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    CK(sum == expected);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int k = 0; k < there; k++) CK(all[k] == 2 * k + 1 - side);
    for (int k = 0; k < 64; k++) blocks[k] = rank * 100 + k;
    MPI_Alltoall(blocks, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int k = 0; k < there; k++) CK(all[k] == (2 * k + 1 - side) * 100 + me);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_MAX, root, inter);
    if (root == MPI_ROOT) CK(sum == 2 * there - 1);
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, inter);
    for (int k = 0; root == MPI_ROOT && k < there; k++) CK(all[k] == 2 * k + 1);
    MPI_Scatter(blocks, 1, MPI_INT, &value, 1, MPI_INT, root, inter);
    if (side == 1) CK(value == me);
    long m[4] = {1, rank + 1, 2, 1}, product[4];
    MPI_Datatype matrix;
    MPI_Op op;
    MPI_Type_contiguous(4, MPI_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(multiply, 0, &op);
    MPI_Allreduce(m, product, 1, matrix, op, inter);
    if (there == 1) CK(product[1] == (1 - side) + 1);
    MPI_Op_free(&op);
    MPI_Type_free(&matrix);
    MPI_Comm_dup(inter, &copy);
    MPI_Comm_compare(inter, copy, &flag);
    CK(flag == MPI_CONGRUENT);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Intercomm_merge(inter, side == 0, &both);
    MPI_Comm_rank(both, &me);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both);
    CK(sum == size * (size - 1) / 2 && me == (side == 1 ? rank / 2 : there + rank / 2));
    MPI_Comm_free(&both);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    /* Communicators that only their members make, and different ones in one call. */
    MPI_Group everybody, even, odd;
    int range[1][3] = {{0, size - 1, 2}};
    MPI_Comm_group(world, &everybody);
    MPI_Group_range_incl(everybody, 1, range, &even);
    MPI_Group_difference(everybody, even, &odd);
    if (side == 0) {
        for (int turn = 0; turn < 2; turn++) {
            MPI_Comm_create_group(world, even, turn, &both);
            MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, both);
            CK(sum == size * (size - 1) / 2 - (size / 2) * (size / 2));
            MPI_Comm_free(&both);
        }
    }
    MPI_Comm_create(world, side ? odd : even, &both);
    MPI_Allreduce(&side, &sum, 1, MPI_INT, MPI_SUM, both);
    MPI_Comm_size(both, &n);
    CK(sum == side * n);
    MPI_Comm_free(&both);
    MPI_Comm_create(world, MPI_GROUP_EMPTY, &both);
    CK(both == MPI_COMM_NULL);
}

static void neighbours(void) {
    int dims[1] = {size}, periods[1] = {1}, sent[2] = {rank * 10, rank * 10 + 1}, got[4];
    int next = (rank + 1) % size, before = (rank + size - 1) % size, in, out, weighted;
    MPI_Comm ring, star;
    MPI_Request request;
    MPI_Cart_create(world, 1, dims, periods, 0, &ring);
    MPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, ring);
    CK(got[0] == before * 10 + 1 && got[1] == next * 10);
    MPI_Neighbor_allgather(sent, 2, MPI_INT, got, 2, MPI_INT, ring);
    CK(got[0] == before * 10 && got[3] == next * 10 + 1);
    int counts[2] = {1, 1}, turned[2] = {1, 0};
    MPI_Ineighbor_alltoallv(sent, counts, turned, MPI_INT, got, counts, turned, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CK(size == 2 || (got[1] == before * 10 && got[0] == next * 10 + 1));
    MPI_Comm_free(&ring);
    /* Everybody to rank 0 and back, as rank 0 says it for all. */
    int sources[64], degrees[64], destinations[64], weights[64], edges = 0, all[64], own[64];
    for (int k = 1; rank == 0 && k < size; k++) {
        sources[edges] = k, degrees[edges] = 1, destinations[edges] = 0, weights[edges++] = k;
        sources[edges] = 0, degrees[edges] = 1, destinations[edges] = k, weights[edges++] = k;
    }
    MPI_Dist_graph_create(world, edges, sources, degrees, destinations, weights, MPI_INFO_NULL, 0, &star);
    MPI_Dist_graph_neighbors_count(star, &in, &out, &weighted);
    CK(weighted && in == (rank ? 1 : size - 1) && out == in);
    MPI_Dist_graph_neighbors(star, in, sources, weights, out, destinations, MPI_UNWEIGHTED);
    CK(rank ? sources[0] == 0 && weights[0] == rank : sources[size - 2] == size - 1);
    for (int k = 0; k < 64; k++) own[k] = rank * 100 + k;
    MPI_Neighbor_alltoall(own, 1, MPI_INT, all, 1, MPI_INT, star);
    for (int k = 0; k < in; k++) CK(all[k] == (rank ? rank - 1 : (k + 1) * 100));
    MPI_Comm_free(&star);
}

static void types(void) {
    int a[30], b[30], n, flag, key, deletes = 0, position = 0;
    char packed[200];
    MPI_Datatype part, copy;
    MPI_Aint at = 0, wide;
    void *value;
    for (int i = 0; i < 30; i++) a[i] = i;
    /* Rows in two blocks, columns dealt out in pairs, on a grid of 2 x 1. */
    int sizes[2] = {6, 5}, how[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int of[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[2] = {2, 1};
    MPI_Type_create_darray(2, rank % 2, 2, sizes, how, of, grid, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&part);
    MPI_Type_size(part, &n);
    CK(n == 60);
    MPI_Pack(a, 1, part, packed, 200, &position, world);
    memcpy(b, packed, 60);
    for (int i = 0; i < 15; i++) CK(b[i] == 15 * (rank % 2) + i);
    MPI_Type_create_keyval(copied, deleted, &key, &deletes);
    MPI_Type_set_attr(part, key, (void *)100);
    MPI_Type_dup(part, &copy);
    MPI_Type_get_attr(copy, key, &value, &flag);
    CK(flag && value == (void *)105);
    MPI_Type_free(&copy);
    MPI_Type_free(&part);
    CK(deletes == 2);
    int integers, addresses, types, combiner;
    MPI_Type_create_resized(MPI_INT, -4, 12, &part);
    MPI_Type_get_envelope(part, &integers, &addresses, &types, &combiner);
    CK(combiner == MPI_COMBINER_RESIZED && addresses == 2);
    MPI_Type_free(&part);
    int three[3] = {1, -2, 258}, back[3];
    double real = 1.5, again = 0;
    MPI_Pack_external_size("external32", 3, MPI_INT, &wide);
    CK(wide == 12);
    MPI_Pack_external("external32", three, 3, MPI_INT, packed, 200, &at);
    MPI_Pack_external("external32", &real, 1, MPI_DOUBLE, packed, 200, &at);
    CK(at == 20 && packed[3] == 1 && packed[10] == 1 && packed[11] == 2);
    at = 0;
    MPI_Unpack_external("external32", packed, 200, &at, back, 3, MPI_INT);
    MPI_Unpack_external("external32", packed, 200, &at, &again, 1, MPI_DOUBLE);
    CK(back[1] == -2 && back[2] == 258 && again == 1.5);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    probes();
    two_groups();
    neighbours();
    types();
    MPI_Barrier(world);
    printf("rank %d end %.9f check %d\n", rank, MPI_Wtime(), fails);
    MPI_Finalize();
    return fails != 0;
}
