/* Kernels in the manner of the NAS benchmarks: EP (random pairs, reductions), IS (bucket sort), CG
 * (conjugate gradients on a ring), each checked by itself. */
#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long state;
static double draw(void) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (double)(state >> 11) / 9007199254740992.0;
}

static int ep(int rank, int size) {
    long inside = 0, all = 0, n = 20000;
    state = 17 + rank;
    for (long i = 0; i < n; i++) {
        double x = 2 * draw() - 1, y = 2 * draw() - 1;
        inside += x * x + y * y <= 1;
    }
    MPI_Allreduce(&inside, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    return fabs(4.0 * all / (n * size) - 3.14159) > 0.05;
}

static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int is(int rank, int size) {
    enum { N = 5000, RANGE = 1 << 16 };
    int *keys = malloc(N * sizeof *keys), *packed = malloc(N * sizeof *packed);
    int *out = calloc(size, sizeof *out), *in = calloc(size, sizeof *in);
    int *from = calloc(size + 1, sizeof *from), *to = calloc(size + 1, sizeof *to);
    state = 99 + rank;
    for (int i = 0; i < N; i++) {
        keys[i] = (int)(draw() * RANGE);
        out[(long)keys[i] * size / RANGE]++;
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int p = 0; p < size; p++) {
        from[p + 1] = from[p] + out[p];
        to[p + 1] = to[p] + in[p];
    }
    int *next = malloc(size * sizeof *next), mine = to[size];
    for (int p = 0; p < size; p++)
        next[p] = from[p];
    for (int i = 0; i < N; i++)
        packed[next[(long)keys[i] * size / RANGE]++] = keys[i];
    int *sorted = malloc((mine + 1) * sizeof *sorted);
    MPI_Alltoallv(packed, out, from, MPI_INT, sorted, in, to, MPI_INT, MPI_COMM_WORLD);
    qsort(sorted, mine, sizeof *sorted, order);
    int bad = 0, total = 0, before = -1, last = mine ? sorted[mine - 1] : -1;
    for (int i = 1; i < mine; i++)
        bad += sorted[i - 1] > sorted[i];
    MPI_Allreduce(&mine, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(&last, &before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    bad += total != N * size || (rank && mine && before > sorted[0]);
    free(keys), free(packed), free(out), free(in), free(from), free(to), free(next), free(sorted);
    return bad;
}

static double dot(const double *a, const double *b, int n) {
    double mine = 0, all;
    for (int i = 0; i < n; i++)
        mine += a[i] * b[i];
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static int cg(int rank, int size) {
    enum { N = 500 };
    double x[N + 2] = {0}, r[N], p[N + 2] = {0}, q[N];
    int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    for (int i = 0; i < N; i++)
        r[i] = p[i + 1] = 1;
    double rho = dot(r, r, N), first = rho;
    for (int turn = 0; turn < 60; turn++) {
        MPI_Request all[4];
        MPI_Irecv(&p[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &all[0]);
        MPI_Irecv(&p[N + 1], 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &all[1]);
        MPI_Isend(&p[1], 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &all[2]);
        MPI_Isend(&p[N], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &all[3]);
        MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
        for (int i = 0; i < N; i++)
            q[i] = 4 * p[i + 1] - p[i] - p[i + 2];
        double alpha = rho / dot(&p[1], q, N), old = rho;
        for (int i = 0; i < N; i++) {
            x[i + 1] += alpha * p[i + 1];
            r[i] -= alpha * q[i];
        }
        rho = dot(r, r, N);
        for (int i = 0; i < N; i++)
            p[i + 1] = r[i] + rho / old * p[i + 1];
    }
    return !(rho < 1e-20 * first);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int bad = ep(rank, size) + is(rank, size) + cg(rank, size);
    printf("rank %d end %.9f check %d\n", rank, MPI_Wtime(), bad);
    MPI_Finalize();
    return bad != 0;
}
