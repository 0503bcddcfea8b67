/* What a simulated program may say about its computations (`slackline mpirun --compute charged`, and for
 * samples also `--compute measure`). */
#ifndef SLACKLINE_H
#define SLACKLINE_H
#ifdef __cplusplus
extern "C" {
#endif

/* Computes so many flop, or for so many seconds, on the simulated host. */
void slackline_compute(double flops);
void slackline_compute_seconds(double seconds);

/* Whether the block named by key is to be executed: the first `times` times of each rank, or of all ranks
 * together with `global`. When it is not, the mean time of its executions passes. */
int slackline_sample_begin(const char *key, int times, int global);
void slackline_sample_end(const char *key, int global);

/* Memory that all ranks share: one array for all, named by key. Results of the program are wrong then. */
void *slackline_shared_malloc(const char *key, unsigned long bytes);
void slackline_shared_free(void *memory);

#define SLACKLINE_TEXT_(x) #x
#define SLACKLINE_TEXT(x) SLACKLINE_TEXT_(x)
#define SLACKLINE_HERE __FILE__ ":" SLACKLINE_TEXT(__LINE__)

/* SLACKLINE_SAMPLE_LOCAL(10) { block }: no MPI calls inside. */
#define SLACKLINE_SAMPLE_(times, global)                                                                     \
    for (int slackline_runs = slackline_sample_begin(SLACKLINE_HERE, times, global); slackline_runs;         \
         slackline_sample_end(SLACKLINE_HERE, global), slackline_runs = 0)
#define SLACKLINE_SAMPLE_LOCAL(times) SLACKLINE_SAMPLE_(times, 0)
#define SLACKLINE_SAMPLE_GLOBAL(times) SLACKLINE_SAMPLE_(times, 1)

#ifdef __cplusplus
}
#endif
#endif
