/* Measures what a replay of MPI traces needs to know of a cluster; run with two processes on two nodes.
 *
 *   mpicc -O2 measure.c -o measure && mpiexec -n 2 ./measure [points] [largest] [seed] > data.csv
 *
 * Writes kind,size,seconds: pingpong (one way), send (inside MPI_Send, the receiver being ready), isend, recv
 * (inside MPI_Recv, the message being there), compute (flop), both (bytes/s out and in at the same time).
 * Sizes are drawn log-uniformly from 1 byte on, in random order, from a fixed seed. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ping-pongs per point. */
#define TURNS 5

static int in_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t state;

static double draw(void) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(state >> 11) / 9007199254740992.0;
}

static volatile double sink = 1.0;

/* Two flop per turn. */
static double burn(long turns) {
    double x = sink; /* or the loop would be done beforehand */
    for (long k = 0; k < turns; k++) x = x * 0.999999 + 1e-6;
    return x;
}

/* Until the other side is inside its call: a short pause after a handshake. */
static void pause_a_little(void) {
    double until = MPI_Wtime() + 50e-6;
    while (MPI_Wtime() < until) {
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int points = argc > 1 ? atoi(argv[1]) : 500;
    double largest = argc > 2 ? atof(argv[2]) : 100.0 * 1024 * 1024;
    state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (size != 2 || points < 3 || largest < 1) {
        if (rank == 0) fprintf(stderr, "two processes, 3 points or more, 1 byte or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char *out = malloc((size_t)largest + 1), *in = malloc((size_t)largest + 1);
    if (!out || !in) MPI_Abort(MPI_COMM_WORLD, 1);
    memset(out, 1, (size_t)largest + 1);
    memset(in, 2, (size_t)largest + 1);
    int other = 1 - rank;
    if (rank == 0) printf("kind,size,seconds\n");
    for (int k = 0; k < points; k++) {
        int bytes = (int)exp(draw() * log(largest));
        double begin, spent;
        MPI_Status status;
        MPI_Request request;
        /* Once to warm up; of the rest the median, so that what the system does in between does not count. */
        double spans[TURNS];
        for (int turn = -1; turn < TURNS; turn++) {
            MPI_Barrier(MPI_COMM_WORLD);
            begin = MPI_Wtime();
            if (rank == 0) {
                MPI_Send(out, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
                MPI_Recv(in, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &status);
            } else {
                MPI_Recv(in, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &status);
                MPI_Send(out, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
            }
            if (turn >= 0) spans[turn] = (MPI_Wtime() - begin) / 2;
        }
        qsort(spans, TURNS, sizeof *spans, in_order);
        if (rank == 0) printf("pingpong,%d,%.9e\n", bytes, spans[TURNS / 2]);
        /* Inside send: the receiver posted before. */
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            pause_a_little();
            begin = MPI_Wtime();
            MPI_Send(out, bytes, MPI_BYTE, other, 2, MPI_COMM_WORLD);
            spent = MPI_Wtime() - begin;
            printf("send,%d,%.9e\n", bytes, spent);
            MPI_Barrier(MPI_COMM_WORLD);
            pause_a_little();
            begin = MPI_Wtime();
            MPI_Isend(out, bytes, MPI_BYTE, other, 3, MPI_COMM_WORLD, &request);
            spent = MPI_Wtime() - begin;
            MPI_Wait(&request, &status);
            printf("isend,%d,%.9e\n", bytes, spent);
        } else {
            MPI_Recv(in, bytes, MPI_BYTE, other, 2, MPI_COMM_WORLD, &status);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_BYTE, other, 3, MPI_COMM_WORLD, &status);
        }
        /* Inside receive: a probe says that the message is there. */
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            MPI_Send(out, bytes, MPI_BYTE, other, 4, MPI_COMM_WORLD);
        } else {
            MPI_Probe(other, 4, MPI_COMM_WORLD, &status);
            begin = MPI_Wtime();
            MPI_Recv(in, bytes, MPI_BYTE, other, 4, MPI_COMM_WORLD, &status);
            printf("recv,%d,%.9e\n", bytes, MPI_Wtime() - begin);
        }
    }
    /* Bursts of 100 flop to 10 Mflop. */
    for (int k = 0; k < points && rank == 0; k++) {
        long turns = (long)(50 * exp(draw() * log(1e5)));
        double begin = MPI_Wtime();
        sink = burn(turns);
        double spent = MPI_Wtime() - begin;
        if (spent > 0) printf("compute,%ld,%.9e\n", 2 * turns, spent);
    }
    /* One direction alone, then both at once. */
    int large = (int)(largest < 4e6 ? largest : 4e6);
    for (int k = 0; k < 20; k++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        int both = k >= 10, count = 0;
        if (both || rank == 0) MPI_Isend(out, large, MPI_BYTE, other, 5, MPI_COMM_WORLD, &requests[count++]);
        if (both || rank == 1) MPI_Irecv(in, large, MPI_BYTE, other, 5, MPI_COMM_WORLD, &requests[count++]);
        MPI_Waitall(count, requests, statuses);
        MPI_Barrier(MPI_COMM_WORLD);
        double rate = large / (MPI_Wtime() - begin);
        if (rank == 0) printf("both,%.6e,%.6e\n", rate, both ? rate : 0.0);
    }
    MPI_Finalize();
    return 0;
}
