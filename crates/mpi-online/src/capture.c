/* Records what a rank of a real MPI run computes, sends and waits for, as a trace without dates.
 *
 * It is compiled with the compiler of the MPI that the program is linked with, so that handles and constants are
 * those of that MPI, and loaded before it. Every function records and calls its PMPI_ twin. Nothing happens before
 * MPI_Init. Between two calls the thread's CPU time is taken as computing.
 *
 * A receive from anybody is recorded with its real source, which is known when it is done: lines wait until then.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#endif

typedef unsigned long long Key;
#define KEY(handle) ((Key)(uintptr_t)(handle))

static FILE *file;
static int rank, active, depth;
static double speed = 1e9, least = 1e-6, left_at;
static int counter = -1;

/* Lines that wait for the source of a receive, in order. */
typedef struct Line {
    struct Line *next;
    char *text;      /* 0 while it is not known */
    unsigned number; /* of the request it is waiting for */
} Line;
static Line *first, *last;

typedef struct Request {
    struct Request *next;
    Key key;
    unsigned number;
    int persistent, started, null, receives;
    int comm, peer, tag;
    long long bytes;
    Line *line;
} Request;
#define BUCKETS 1024
static Request *requests[BUCKETS];
static unsigned next_request = 1;

typedef struct Comm {
    struct Comm *next;
    Key key;
    int number;
} Comm;
static Comm *comms;
static int next_comm = 1;

static void die(const char *why) {
    fprintf(stderr, "slackline mpi-capture: rank %d: %s\n", rank, why);
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

static void *need(size_t bytes) {
    void *p = calloc(1, bytes);
    if (!p) die("no memory is left");
    return p;
}

static void flush_lines(void) {
    while (first && first->text) {
        Line *line = first;
        fputs(line->text, file);
        first = line->next;
        if (!first) last = 0;
        free(line->text);
        free(line);
    }
}

static Line *add_line(char *text, unsigned number) {
    Line *line = need(sizeof *line);
    line->text = text;
    line->number = number;
    if (last) last->next = line; else first = line;
    last = line;
    return line;
}

static void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (!first) {
        vfprintf(file, format, list);
    } else {
        char *text = 0;
        if (vasprintf(&text, format, list) < 0) die("no memory is left");
        add_line(text, 0);
    }
    va_end(list);
}

static double now(void) {
    if (counter >= 0) {
        long long count = 0;
        if (read(counter, &count, sizeof count) == sizeof count) return (double)count / speed;
    }
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A call of the program begins: what was computed since the last one is recorded. */
static int enter(void) {
    if (!active || depth++ > 0) return 0;
    double burst = now() - left_at;
    if (burst >= least) say("%d compute %.0f\n", rank, burst * speed);
    return 1;
}

static void leave(void) {
    if (!active || --depth > 0) return;
    flush_lines();
    left_at = now();
}


static int comm_number(MPI_Comm comm) {
    if (comm == MPI_COMM_WORLD) return 0;
    for (Comm *c = comms; c; c = c->next)
        if (c->key == KEY(comm)) return c->number;
    return -1;
}

/* " comm=N" behind a line; nothing for the world. A communicator of one rank has no trace. */
static const char *of_comm(MPI_Comm comm) {
    static char text[8][24];
    static int next;
    int number = comm_number(comm);
    if (number < 0) die("a communicator that mpi-capture does not know (MPI_COMM_SELF, or made by a call it does not follow)");
    char *out = text[next++ & 7];
    if (number == 0) *out = 0; else snprintf(out, 24, " comm=%d", number);
    return out;
}

/* The same number for all members; `parent` has all who take part. */
static int agree(MPI_Comm parent) {
    int number = next_comm;
    PMPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_MAX, parent);
    next_comm = number + 1;
    return number;
}

static void know(MPI_Comm comm, int number) {
    Comm *c = need(sizeof *c);
    c->key = KEY(comm);
    c->number = number;
    c->next = comms;
    comms = c;
}

static long long bytes_of(long long count, MPI_Datatype type) {
    int size = 0;
    if (count > 0) PMPI_Type_size(type, &size);
    return count * size;
}

static Request *find(MPI_Request request) {
    Request **at = &requests[KEY(request) / 8 % BUCKETS], *oldest = 0;
    for (Request *r = *at; r; r = r->next)
        if (r->key == KEY(request) && (!oldest || r->number < oldest->number)) oldest = r;
    return oldest;
}

static Request *keep(MPI_Request request) {
    Request *r = need(sizeof *r);
    Request **at = &requests[KEY(request) / 8 % BUCKETS];
    r->key = KEY(request);
    r->number = next_request++;
    r->next = *at;
    *at = r;
    return r;
}

static void drop(Request *r) {
    Request **at = &requests[r->key / 8 % BUCKETS];
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    free(r);
}

/* A receive whose source is known. */
static char *receive_line(const char *name, int source, int tag, long long bytes, int comm, unsigned number) {
    char *text = 0, in[24] = "";
    if (comm) snprintf(in, sizeof in, " comm=%d", comm);
    int done = number
        ? asprintf(&text, "%d %s %d %d %lld 6%s req=%u\n", rank, name, source, tag, bytes, in, number)
        : asprintf(&text, "%d %s %d %d %lld 6%s\n", rank, name, source, tag, bytes, in);
    if (done < 0) die("no memory is left");
    return text;
}

static void settle(Request *r, MPI_Status *status) {
    if (!r->line) return;
    int cancelled = 0;
    PMPI_Test_cancelled(status, &cancelled);
    int source = cancelled ? -1 : status->MPI_SOURCE, tag = cancelled ? -1 : status->MPI_TAG;
    r->line->text = receive_line(r->persistent ? "recv_init" : "irecv", source, tag, r->bytes, r->comm, r->number);
    r->line = 0;
}

/* A request has ended: its number goes into the list of those that were waited for. */
static void ended(MPI_Request before, MPI_Status *status, unsigned *numbers, int *count) {
    if (before == MPI_REQUEST_NULL) return;
    Request *r = find(before);
    if (!r) return;
    settle(r, status);
    if (!r->null && (!r->persistent || r->started)) numbers[(*count)++] = r->number;
    r->started = 0;
    if (!r->persistent) drop(r);
}

static void say_waited(const unsigned *numbers, int count) {
    if (count == 0) return;
    size_t room = 32 + 11 * (size_t)count, at;
    char *text = need(room);
    at = (size_t)snprintf(text, room, "%d %s req=", rank, count > 1 ? "waitall" : "wait");
    for (int k = 0; k < count; k++)
        at += (size_t)snprintf(text + at, room - at, "%s%u", k ? "," : "", numbers[k]);
    say("%s\n", text);
    free(text);
}

/* ---- begin and end ---- */

static void open_counter(void) {
#if defined(__linux__) && defined(__NR_perf_event_open)
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    counter = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);
#endif
}

static void begin(void) {
    char path[4096];
    const char *folder = getenv("SLACKLINE_CAPTURE"), *value;
    if (!folder || active) return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if ((value = getenv("SLACKLINE_CAPTURE_SPEED"))) speed = atof(value);
    if ((value = getenv("SLACKLINE_CAPTURE_LEAST"))) least = atof(value);
    if ((value = getenv("SLACKLINE_CAPTURE_COUNT")) && !strcmp(value, "instructions")) {
        open_counter();
        if (counter < 0) die("the system does not let instructions be counted: --count time");
        speed = 1;
    }
    if ((size_t)snprintf(path, sizeof path, "%s/rank-%05d.tit", folder, rank) >= sizeof path) die("the name of the folder is too long");
    file = fopen(path, "w");
    if (!file) die("the trace cannot be written");
    setvbuf(file, 0, _IOFBF, 1 << 20);
    fputs("#slackline-trace 1\n", file);
    fprintf(file, "%d init\n", rank);
    active = 1;
    left_at = now();
}

int MPI_Init(int *argc, char ***argv) {
    int err = PMPI_Init(argc, argv);
    begin();
    return err;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int err = PMPI_Init_thread(argc, argv, required, provided);
    begin();
    return err;
}

int MPI_Finalize(void) {
    if (active) {
        enter();
        Line *line = first;
        for (; line; line = line->next)
            if (!line->text) {
                line->text = strdup("");
                fprintf(stderr, "slackline mpi-capture: rank %d: a receive from any source was never waited for; it is left out\n", rank);
            }
        flush_lines();
        fprintf(file, "%d finalize\n", rank);
        if (fclose(file)) fprintf(stderr, "slackline mpi-capture: rank %d: the trace could not be written whole\n", rank);
        active = 0;
    }
    return PMPI_Finalize();
}

/* ---- messages ---- */

static void said_send(const char *name, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    if (to != MPI_PROC_NULL)
        say("%d %s %d %d %lld 6%s\n", rank, name, to, tag, bytes_of(count, type), of_comm(comm));
}

#define SEND(Name, name)                                                                                            \
    int MPI_##Name(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {                            \
        if (enter()) said_send(name, n, t, to, tag, c);                                                            \
        int err = PMPI_##Name(b, n, t, to, tag, c);                                                                \
        leave();                                                                                                   \
        return err;                                                                                                \
    }
SEND(Send, "send")
SEND(Bsend, "send")
SEND(Rsend, "send")
SEND(Ssend, "ssend")

static void said_request(const char *name, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Request *request, int receives, int persistent) {
    Request *r = keep(*request);
    r->persistent = persistent;
    if (peer == MPI_PROC_NULL) {
        r->null = 1;
        return;
    }
    of_comm(comm);
    r->comm = comm_number(comm);
    r->bytes = bytes_of(count, type);
    r->receives = receives;
    if (receives && (peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) && !persistent) {
        r->line = add_line(0, r->number);
        return;
    }
    int any = receives && peer == MPI_ANY_SOURCE, any_tag = receives && tag == MPI_ANY_TAG;
    say("%d %s %d %d %lld 6%s req=%u\n", rank, name, any ? -1 : peer, any_tag ? -1 : tag, r->bytes, of_comm(comm), r->number);
}

#define ISEND(Name, name, persistent)                                                                               \
    int MPI_##Name(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q) {            \
        int own = enter();                                                                                         \
        int err = PMPI_##Name(b, n, t, to, tag, c, q);                                                             \
        if (own) said_request(name, n, t, to, tag, c, q, 0, persistent);                                           \
        leave();                                                                                                   \
        return err;                                                                                                \
    }
ISEND(Isend, "isend", 0)
ISEND(Ibsend, "isend", 0)
ISEND(Irsend, "isend", 0)
ISEND(Issend, "issend", 0)
ISEND(Send_init, "send_init", 1)
ISEND(Bsend_init, "send_init", 1)
ISEND(Rsend_init, "send_init", 1)
ISEND(Ssend_init, "ssend_init", 1)

int MPI_Irecv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *q) {
    int own = enter();
    int err = PMPI_Irecv(b, n, t, from, tag, c, q);
    if (own) said_request("irecv", n, t, from, tag, c, q, 1, 0);
    leave();
    return err;
}

int MPI_Recv_init(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *q) {
    int own = enter();
    int err = PMPI_Recv_init(b, n, t, from, tag, c, q);
    if (own) said_request("recv_init", n, t, from, tag, c, q, 1, 1);
    leave();
    return err;
}

int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *status) {
    MPI_Status mine;
    int own = enter();
    int err = PMPI_Recv(b, n, t, from, tag, c, &mine);
    if (own && from != MPI_PROC_NULL)
        say("%d recv %d %d %lld 6%s\n", rank, mine.MPI_SOURCE, mine.MPI_TAG, bytes_of(n, t), of_comm(c));
    leave();
    if (status != MPI_STATUS_IGNORE) *status = mine;
    return err;
}

static int exchange(int send_count, MPI_Datatype st, int to, int stag, int n, MPI_Datatype rt, int from, int rtag,
                    MPI_Comm c, MPI_Status *mine) {
    unsigned numbers[2];
    int count = 0;
    if (from != MPI_PROC_NULL) {
        numbers[count++] = next_request;
        say("%d irecv %d %d %lld 6%s req=%u\n", rank, mine->MPI_SOURCE, mine->MPI_TAG, bytes_of(n, rt), of_comm(c), next_request++);
        (void)rtag;
    }
    if (to != MPI_PROC_NULL) {
        numbers[count++] = next_request;
        say("%d isend %d %d %lld 6%s req=%u\n", rank, to, stag, bytes_of(send_count, st), of_comm(c), next_request++);
    }
    say_waited(numbers, count);
    return 0;
}

int MPI_Sendrecv(const void *sb, int sn, MPI_Datatype st, int to, int stag, void *rb, int rn, MPI_Datatype rt,
                 int from, int rtag, MPI_Comm c, MPI_Status *status) {
    MPI_Status mine;
    int own = enter();
    int err = PMPI_Sendrecv(sb, sn, st, to, stag, rb, rn, rt, from, rtag, c, &mine);
    if (own) exchange(sn, st, to, stag, rn, rt, from, rtag, c, &mine);
    leave();
    if (status != MPI_STATUS_IGNORE) *status = mine;
    return err;
}

int MPI_Sendrecv_replace(void *b, int n, MPI_Datatype t, int to, int stag, int from, int rtag, MPI_Comm c, MPI_Status *status) {
    MPI_Status mine;
    int own = enter();
    int err = PMPI_Sendrecv_replace(b, n, t, to, stag, from, rtag, c, &mine);
    if (own) exchange(n, t, to, stag, n, t, from, rtag, c, &mine);
    leave();
    if (status != MPI_STATUS_IGNORE) *status = mine;
    return err;
}

int MPI_Probe(int from, int tag, MPI_Comm c, MPI_Status *status) {
    MPI_Status mine;
    int own = enter();
    int err = PMPI_Probe(from, tag, c, &mine);
    if (own && from != MPI_PROC_NULL) say("%d probe %d %d%s\n", rank, mine.MPI_SOURCE, mine.MPI_TAG, of_comm(c));
    leave();
    if (status != MPI_STATUS_IGNORE) *status = mine;
    return err;
}

/* Looks that see nothing depend on chance and are left out. */
int MPI_Iprobe(int from, int tag, MPI_Comm c, int *flag, MPI_Status *status) {
    MPI_Status mine;
    int own = enter();
    int err = PMPI_Iprobe(from, tag, c, flag, &mine);
    if (own && *flag && from != MPI_PROC_NULL) say("%d probe %d %d%s\n", rank, mine.MPI_SOURCE, mine.MPI_TAG, of_comm(c));
    leave();
    if (status != MPI_STATUS_IGNORE && *flag) *status = mine;
    return err;
}

/* ---- requests ---- */

static void started(MPI_Request request, unsigned *numbers, int *count) {
    Request *r = find(request);
    if (!r || r->null) return;
    r->started = 1;
    numbers[(*count)++] = r->number;
}

static void say_started(const unsigned *numbers, int count) {
    for (int k = 0; k < count; k++) say("%d start req=%u\n", rank, numbers[k]);
}

int MPI_Start(MPI_Request *q) {
    unsigned number;
    int count = 0;
    if (enter()) {
        started(*q, &number, &count);
        say_started(&number, count);
    }
    int err = PMPI_Start(q);
    leave();
    return err;
}

int MPI_Startall(int n, MPI_Request q[]) {
    if (enter()) {
        unsigned *numbers = need(sizeof *numbers * (size_t)(n + 1));
        int count = 0;
        for (int k = 0; k < n; k++) started(q[k], numbers, &count);
        say_started(numbers, count);
        free(numbers);
    }
    int err = PMPI_Startall(n, q);
    leave();
    return err;
}

int MPI_Wait(MPI_Request *q, MPI_Status *status) {
    MPI_Request before = *q;
    MPI_Status mine;
    int own = enter();
    int err = PMPI_Wait(q, &mine);
    if (own) {
        unsigned number;
        int count = 0;
        ended(before, &mine, &number, &count);
        say_waited(&number, count);
    }
    leave();
    if (status != MPI_STATUS_IGNORE) *status = mine;
    return err;
}

int MPI_Test(MPI_Request *q, int *flag, MPI_Status *status) {
    MPI_Request before = *q;
    MPI_Status mine;
    int own = enter();
    int err = PMPI_Test(q, flag, &mine);
    if (own && *flag) {
        unsigned number;
        int count = 0;
        ended(before, &mine, &number, &count);
        say_waited(&number, count);
    }
    leave();
    if (status != MPI_STATUS_IGNORE && *flag) *status = mine;
    return err;
}

/* What several requests had in common before they were waited for. */
typedef struct {
    MPI_Request *before;
    MPI_Status *statuses;
    unsigned *numbers;
    int count;
} Several;

static Several several(int n, MPI_Request q[]) {
    Several s;
    s.before = need(sizeof *s.before * (size_t)(n + 1));
    s.statuses = need(sizeof *s.statuses * (size_t)(n + 1));
    s.numbers = need(sizeof *s.numbers * (size_t)(n + 1));
    s.count = 0;
    for (int k = 0; k < n; k++) s.before[k] = q[k];
    return s;
}

static void over(Several *s) {
    free(s->before);
    free(s->statuses);
    free(s->numbers);
}

int MPI_Waitall(int n, MPI_Request q[], MPI_Status statuses[]) {
    int own = enter();
    Several s = several(n, q);
    int err = PMPI_Waitall(n, q, s.statuses);
    if (own) {
        for (int k = 0; k < n; k++) ended(s.before[k], &s.statuses[k], s.numbers, &s.count);
        say_waited(s.numbers, s.count);
    }
    if (statuses != MPI_STATUSES_IGNORE) memcpy(statuses, s.statuses, sizeof *statuses * (size_t)n);
    over(&s);
    leave();
    return err;
}

int MPI_Testall(int n, MPI_Request q[], int *flag, MPI_Status statuses[]) {
    int own = enter();
    Several s = several(n, q);
    int err = PMPI_Testall(n, q, flag, s.statuses);
    if (own && *flag) {
        for (int k = 0; k < n; k++) ended(s.before[k], &s.statuses[k], s.numbers, &s.count);
        say_waited(s.numbers, s.count);
    }
    if (*flag && statuses != MPI_STATUSES_IGNORE) memcpy(statuses, s.statuses, sizeof *statuses * (size_t)n);
    over(&s);
    leave();
    return err;
}

/* The one that ended is what the program goes on with: the trace waits for that one. */
int MPI_Waitany(int n, MPI_Request q[], int *index, MPI_Status *status) {
    MPI_Status mine;
    int own = enter();
    Several s = several(n, q);
    int err = PMPI_Waitany(n, q, index, &mine);
    if (own && *index != MPI_UNDEFINED) {
        ended(s.before[*index], &mine, s.numbers, &s.count);
        say_waited(s.numbers, s.count);
    }
    over(&s);
    leave();
    if (status != MPI_STATUS_IGNORE) *status = mine;
    return err;
}

int MPI_Testany(int n, MPI_Request q[], int *index, int *flag, MPI_Status *status) {
    MPI_Status mine;
    int own = enter();
    Several s = several(n, q);
    int err = PMPI_Testany(n, q, index, flag, &mine);
    if (own && *flag && *index != MPI_UNDEFINED) {
        ended(s.before[*index], &mine, s.numbers, &s.count);
        say_waited(s.numbers, s.count);
    }
    over(&s);
    leave();
    if (status != MPI_STATUS_IGNORE && *flag) *status = mine;
    return err;
}

#define SOME(Name)                                                                                                  \
    int MPI_##Name(int n, MPI_Request q[], int *done, int indices[], MPI_Status statuses[]) {                      \
        int own = enter();                                                                                         \
        Several s = several(n, q);                                                                                 \
        int err = PMPI_##Name(n, q, done, indices, s.statuses);                                                    \
        if (own && *done != MPI_UNDEFINED) {                                                                       \
            for (int k = 0; k < *done; k++) ended(s.before[indices[k]], &s.statuses[k], s.numbers, &s.count);      \
            say_waited(s.numbers, s.count);                                                                        \
        }                                                                                                          \
        if (statuses != MPI_STATUSES_IGNORE && *done != MPI_UNDEFINED)                                             \
            memcpy(statuses, s.statuses, sizeof *statuses * (size_t)*done);                                        \
        over(&s);                                                                                                  \
        leave();                                                                                                   \
        return err;                                                                                                \
    }
SOME(Waitsome)
SOME(Testsome)

int MPI_Request_free(MPI_Request *q) {
    int own = enter();
    Request *r = own ? find(*q) : 0;
    int err = PMPI_Request_free(q);
    if (r && !r->line) drop(r);
    leave();
    return err;
}

int MPI_Cancel(MPI_Request *q) {
    int own = enter();
    Request *r = own ? find(*q) : 0;
    if (r && !r->null) say("%d cancel req=%u\n", rank, r->number);
    int err = PMPI_Cancel(q);
    leave();
    return err;
}

/* ---- collectives ---- */

static int size_of(MPI_Comm c) {
    int size = 1;
    PMPI_Comm_size(c, &size);
    return size;
}

static int rank_in(MPI_Comm c) {
    int own = 0;
    PMPI_Comm_rank(c, &own);
    return own;
}

/* Behind the line of a collective: its communicator and, where it goes on in the background, its request. */
static char *tail(MPI_Comm c, MPI_Request *q) {
    static char text[64];
    if (q) {
        Request *r = keep(*q);
        snprintf(text, sizeof text, "%s req=%u\n", of_comm(c), r->number);
    } else {
        snprintf(text, sizeof text, "%s\n", of_comm(c));
    }
    return text;
}

/* Only the members of a communicator of several ranks have something to say to each other. */
#define ALONE(c) (size_of(c) == 1 || comm_number(c) < 0)

static void say_counts(char *line, size_t room, const int *counts, int n, long long unit) {
    size_t at = strlen(line);
    for (int k = 0; k < n; k++) at += (size_t)snprintf(line + at, room - at, " %lld", counts[k] * unit);
}

static void said_vector(const char *name, const char *head, const int *counts, long long unit, int n, const int *more,
                        long long more_unit, const char *end, MPI_Comm c, MPI_Request *q) {
    size_t room = 128 + 24 * 2 * (size_t)n;
    char *line = need(room);
    snprintf(line, room, "%d %s%s%s", rank, q ? "i" : "", name, head);
    say_counts(line, room, counts, n, unit);
    if (more) {
        long long sum = 0;
        for (int k = 0; k < n; k++) sum += more[k] * more_unit;
        snprintf(line + strlen(line), room - strlen(line), " %lld", sum);
        say_counts(line, room, more, n, more_unit);
    }
    say("%s%s%s", line, end, tail(c, q));
    free(line);
}

static void barrier(MPI_Comm c, MPI_Request *q) {
    if (!ALONE(c)) say("%d %sbarrier%s", rank, q ? "i" : "", tail(c, q));
    else if (q) keep(*q)->null = 1;
}

static void one(const char *name, long long bytes, int root, MPI_Comm c, MPI_Request *q) {
    if (!ALONE(c)) say("%d %s%s %lld %d 6%s", rank, q ? "i" : "", name, bytes, root, tail(c, q));
    else if (q) keep(*q)->null = 1;
}

/* `root` below 0: none. */
static void reduction(const char *name, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c, MPI_Request *q) {
    int commutes = 1;
    if (ALONE(c)) {
        if (q) keep(*q)->null = 1;
        return;
    }
    PMPI_Op_commutative(op, &commutes);
    char at[24] = "";
    if (root >= 0) snprintf(at, sizeof at, " %d", root);
    say("%d %s%s %lld %d%s 6%s%s", rank, q ? "i" : "", name, bytes_of(n, t), n, at, commutes ? "" : " ordered=1", tail(c, q));
}

static void exchanged(const char *name, long long sent, long long received, int root, MPI_Comm c, MPI_Request *q) {
    char at[24] = "";
    if (ALONE(c)) {
        if (q) keep(*q)->null = 1;
        return;
    }
    if (root >= 0) snprintf(at, sizeof at, " %d", root);
    say("%d %s%s %lld %lld%s 6 6%s", rank, q ? "i" : "", name, sent, received, at, tail(c, q));
}

/* Counts that only the root knows, for everybody, in bytes. */
static int *from_root(const int *counts, MPI_Datatype t, int root, MPI_Comm c) {
    int n = size_of(c), *all = need(sizeof *all * (size_t)n);
    if (rank_in(c) == root)
        for (int k = 0; k < n; k++) all[k] = (int)bytes_of(counts[k], t);
    PMPI_Bcast(all, n, MPI_INT, root, c);
    return all;
}

/* Each collective and its form in the background; `SAY` records it once the request is known. */
#define COLLECTIVE(Name, PARAMETERS, ARGUMENTS, c, SAY)                                                            \
    int MPI_##Name PARAMETERS {                                                                                    \
        MPI_Request *q = 0;                                                                                        \
        if (enter()) { SAY; }                                                                                      \
        int err = PMPI_##Name ARGUMENTS;                                                                           \
        leave();                                                                                                   \
        return err;                                                                                                \
    }
#define BACKGROUND(Name, PARAMETERS, ARGUMENTS, c, SAY)                                                            \
    int MPI_##Name PARAMETERS {                                                                                    \
        int own = enter();                                                                                         \
        int err = PMPI_##Name ARGUMENTS;                                                                           \
        if (own) { SAY; }                                                                                          \
        leave();                                                                                                   \
        return err;                                                                                                \
    }
#define BOTH(Name, IName, PARAMETERS, IPARAMETERS, ARGUMENTS, IARGUMENTS, c, SAY)                                  \
    COLLECTIVE(Name, PARAMETERS, ARGUMENTS, c, SAY)                                                                \
    BACKGROUND(IName, IPARAMETERS, IARGUMENTS, c, SAY)
#define P(...) (__VA_ARGS__)

BOTH(Barrier, Ibarrier, P(MPI_Comm c), P(MPI_Comm c, MPI_Request *q), P(c), P(c, q), c, barrier(c, q))
BOTH(Bcast, Ibcast, P(void *b, int n, MPI_Datatype t, int root, MPI_Comm c),
     P(void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *q), P(b, n, t, root, c), P(b, n, t, root, c, q), c,
     one("bcast", bytes_of(n, t), root, c, q))
BOTH(Reduce, Ireduce, P(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
     P(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c, MPI_Request *q),
     P(s, r, n, t, op, root, c), P(s, r, n, t, op, root, c, q), c, reduction("reduce", n, t, op, root, c, q))
BOTH(Allreduce, Iallreduce, P(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
     P(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *q),
     P(s, r, n, t, op, c), P(s, r, n, t, op, c, q), c, reduction("allreduce", n, t, op, -1, c, q))
BOTH(Scan, Iscan, P(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
     P(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *q),
     P(s, r, n, t, op, c), P(s, r, n, t, op, c, q), c, reduction("scan", n, t, op, -1, c, q))
BOTH(Exscan, Iexscan, P(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
     P(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *q),
     P(s, r, n, t, op, c), P(s, r, n, t, op, c, q), c, reduction("exscan", n, t, op, -1, c, q))

/* In place: what the root has already counts as sent. */
#define SENT (s == MPI_IN_PLACE ? bytes_of(rn, rt) : bytes_of(sn, st))
#define RECEIVED (r == MPI_IN_PLACE ? bytes_of(sn, st) : bytes_of(rn, rt))
#define ROOTED(c, at_root, elsewhere) (rank_in(c) == root ? (at_root) : (elsewhere))

BOTH(Gather, Igather, P(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
     P(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q),
     P(s, sn, st, r, rn, rt, root, c), P(s, sn, st, r, rn, rt, root, c, q), c,
     long long sent = SENT; exchanged("gather", sent, ROOTED(c, bytes_of(rn, rt), sent), root, c, q))
BOTH(Scatter, Iscatter, P(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
     P(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q),
     P(s, sn, st, r, rn, rt, root, c), P(s, sn, st, r, rn, rt, root, c, q), c,
     long long received = RECEIVED; exchanged("scatter", ROOTED(c, bytes_of(sn, st), received), received, root, c, q))
BOTH(Allgather, Iallgather, P(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c),
     P(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *q),
     P(s, sn, st, r, rn, rt, c), P(s, sn, st, r, rn, rt, c, q), c, exchanged("allgather", SENT, bytes_of(rn, rt), -1, c, q))
BOTH(Alltoall, Ialltoall, P(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c),
     P(const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *q),
     P(s, sn, st, r, rn, rt, c), P(s, sn, st, r, rn, rt, c, q), c, exchanged("alltoall", SENT, bytes_of(rn, rt), -1, c, q))

static void gatherv(const void *s, int sn, MPI_Datatype st, const int *rn, MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q) {
    if (ALONE(c)) {
        if (q) keep(*q)->null = 1;
        return;
    }
    int *counts = from_root(rn, rt, root, c);
    char head[32], end[32];
    snprintf(head, sizeof head, " %lld", s == MPI_IN_PLACE ? (long long)counts[root] : bytes_of(sn, st));
    snprintf(end, sizeof end, " %d 6 6", root);
    said_vector("gatherv", head, counts, 1, size_of(c), 0, 0, end, c, q);
    free(counts);
}
BOTH(Gatherv, Igatherv,
     P(const void *s, int sn, MPI_Datatype st, void *r, const int rn[], const int rd[], MPI_Datatype rt, int root, MPI_Comm c),
     P(const void *s, int sn, MPI_Datatype st, void *r, const int rn[], const int rd[], MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q),
     P(s, sn, st, r, rn, rd, rt, root, c), P(s, sn, st, r, rn, rd, rt, root, c, q), c, gatherv(s, sn, st, rn, rt, root, c, q))

static void scatterv(const int *sn, MPI_Datatype st, const void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q) {
    if (ALONE(c)) {
        if (q) keep(*q)->null = 1;
        return;
    }
    int *counts = from_root(sn, st, root, c);
    char end[64];
    snprintf(end, sizeof end, " %lld %d 6 6", r == MPI_IN_PLACE ? (long long)counts[root] : bytes_of(rn, rt), root);
    said_vector("scatterv", "", counts, 1, size_of(c), 0, 0, end, c, q);
    free(counts);
}
BOTH(Scatterv, Iscatterv,
     P(const void *s, const int sn[], const int sd[], MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c),
     P(const void *s, const int sn[], const int sd[], MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c, MPI_Request *q),
     P(s, sn, sd, st, r, rn, rt, root, c), P(s, sn, sd, st, r, rn, rt, root, c, q), c, scatterv(sn, st, r, rn, rt, root, c, q))

static void allgatherv(const void *s, int sn, MPI_Datatype st, const int *rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *q) {
    if (ALONE(c)) {
        if (q) keep(*q)->null = 1;
        return;
    }
    long long unit = bytes_of(1, rt);
    char head[32];
    snprintf(head, sizeof head, " %lld", s == MPI_IN_PLACE ? rn[rank_in(c)] * unit : bytes_of(sn, st));
    said_vector("allgatherv", head, rn, unit, size_of(c), 0, 0, " 6 6", c, q);
}
BOTH(Allgatherv, Iallgatherv,
     P(const void *s, int sn, MPI_Datatype st, void *r, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm c),
     P(const void *s, int sn, MPI_Datatype st, void *r, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm c, MPI_Request *q),
     P(s, sn, st, r, rn, rd, rt, c), P(s, sn, st, r, rn, rd, rt, c, q), c, allgatherv(s, sn, st, rn, rt, c, q))

static void alltoallv(const void *s, const int *sn, MPI_Datatype st, const int *rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *q) {
    if (ALONE(c)) {
        if (q) keep(*q)->null = 1;
        return;
    }
    if (s == MPI_IN_PLACE) sn = rn, st = rt;
    long long unit = bytes_of(1, st), sum = 0;
    for (int k = 0; k < size_of(c); k++) sum += sn[k] * unit;
    char head[32];
    snprintf(head, sizeof head, " %lld", sum);
    said_vector("alltoallv", head, sn, unit, size_of(c), rn, bytes_of(1, rt), " 6 6", c, q);
}
BOTH(Alltoallv, Ialltoallv,
     P(const void *s, const int sn[], const int sd[], MPI_Datatype st, void *r, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm c),
     P(const void *s, const int sn[], const int sd[], MPI_Datatype st, void *r, const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm c, MPI_Request *q),
     P(s, sn, sd, st, r, rn, rd, rt, c), P(s, sn, sd, st, r, rn, rd, rt, c, q), c, alltoallv(s, sn, st, rn, rt, c, q))

static void reduce_scatter(const int *n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *q) {
    if (ALONE(c)) {
        if (q) keep(*q)->null = 1;
        return;
    }
    int commutes = 1, mine = n[rank_in(c)];
    char end[64];
    PMPI_Op_commutative(op, &commutes);
    snprintf(end, sizeof end, " %d 6%s", mine, commutes ? "" : " ordered=1");
    said_vector("reducescatter", "", n, bytes_of(1, t), size_of(c), 0, 0, end, c, q);
}
BOTH(Reduce_scatter, Ireduce_scatter, P(const void *s, void *r, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm c),
     P(const void *s, void *r, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *q),
     P(s, r, n, t, op, c), P(s, r, n, t, op, c, q), c, reduce_scatter(n, t, op, c, q))

static void reduce_block(int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *q) {
    int size = size_of(c), *all = need(sizeof *all * (size_t)size);
    for (int k = 0; k < size; k++) all[k] = n;
    reduce_scatter(all, t, op, c, q);
    free(all);
}
BOTH(Reduce_scatter_block, Ireduce_scatter_block, P(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
     P(const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *q),
     P(s, r, n, t, op, c), P(s, r, n, t, op, c, q), c, reduce_block(n, t, op, c, q))

/* ---- communicators ---- */

static void said_dup(MPI_Comm c, MPI_Comm *new) {
    if (ALONE(c)) return;
    int number = agree(c);
    know(*new, number);
    say("%d comm_dup %d%s\n", rank, number, of_comm(c));
}

static void said_split(MPI_Comm c, int colour, int key, MPI_Comm *new) {
    if (ALONE(c)) return;
    int number = agree(c);
    if (*new != MPI_COMM_NULL) know(*new, number);
    if (colour == MPI_UNDEFINED) say("%d comm_split %d -1 0%s\n", rank, number, of_comm(c));
    else say("%d comm_split %d %d %d%s\n", rank, number, colour, key, of_comm(c));
}

int MPI_Comm_dup(MPI_Comm c, MPI_Comm *new) {
    int own = enter();
    int err = PMPI_Comm_dup(c, new);
    if (own) said_dup(c, new);
    leave();
    return err;
}

int MPI_Comm_dup_with_info(MPI_Comm c, MPI_Info info, MPI_Comm *new) {
    int own = enter();
    int err = PMPI_Comm_dup_with_info(c, info, new);
    if (own) said_dup(c, new);
    leave();
    return err;
}

int MPI_Comm_split(MPI_Comm c, int colour, int key, MPI_Comm *new) {
    int own = enter();
    int err = PMPI_Comm_split(c, colour, key, new);
    if (own) said_split(c, colour, key, new);
    leave();
    return err;
}

/* Who is in it shows afterwards: as a split by the lowest rank of the old communicator in the new one. */
static void said_made(MPI_Comm c, MPI_Comm *new) {
    int colour = MPI_UNDEFINED, key = 0;
    if (*new != MPI_COMM_NULL) {
        int own = rank_in(c);
        PMPI_Allreduce(&own, &colour, 1, MPI_INT, MPI_MIN, *new);
        key = rank_in(*new);
    }
    said_split(c, colour, key, new);
}

#define MAKES(Name, PARAMETERS, ARGUMENTS)                                                                         \
    int MPI_##Name PARAMETERS {                                                                                    \
        int own = enter();                                                                                         \
        int err = PMPI_##Name ARGUMENTS;                                                                           \
        if (own) said_made(c, new);                                                                                \
        leave();                                                                                                   \
        return err;                                                                                                \
    }
MAKES(Comm_create, P(MPI_Comm c, MPI_Group g, MPI_Comm *new), P(c, g, new))
MAKES(Comm_split_type, P(MPI_Comm c, int type, int key, MPI_Info info, MPI_Comm *new), P(c, type, key, info, new))
MAKES(Cart_create, P(MPI_Comm c, int n, const int dims[], const int periods[], int reorder, MPI_Comm *new),
      P(c, n, dims, periods, reorder, new))
MAKES(Cart_sub, P(MPI_Comm c, const int remain[], MPI_Comm *new), P(c, remain, new))
MAKES(Graph_create, P(MPI_Comm c, int n, const int index[], const int edges[], int reorder, MPI_Comm *new),
      P(c, n, index, edges, reorder, new))

int MPI_Comm_free(MPI_Comm *c) {
    int own = enter();
    if (own)
        for (Comm **at = &comms; *at; at = &(*at)->next)
            if ((*at)->key == KEY(*c)) {
                Comm *gone = *at;
                *at = gone->next;
                free(gone);
                break;
            }
    int err = PMPI_Comm_free(c);
    leave();
    return err;
}

/* ---- what a trace cannot say ---- */

#define STOPS(Name, PARAMETERS, ARGUMENTS)                                                                         \
    int MPI_##Name PARAMETERS {                                                                                    \
        if (active && depth == 0) die("MPI_" #Name " cannot be recorded");                                         \
        return PMPI_##Name ARGUMENTS;                                                                              \
    }
STOPS(Put, P(const void *b, int n, MPI_Datatype t, int to, MPI_Aint at, int rn, MPI_Datatype rt, MPI_Win w), P(b, n, t, to, at, rn, rt, w))
STOPS(Get, P(void *b, int n, MPI_Datatype t, int to, MPI_Aint at, int rn, MPI_Datatype rt, MPI_Win w), P(b, n, t, to, at, rn, rt, w))
STOPS(Accumulate, P(const void *b, int n, MPI_Datatype t, int to, MPI_Aint at, int rn, MPI_Datatype rt, MPI_Op op, MPI_Win w),
      P(b, n, t, to, at, rn, rt, op, w))
STOPS(Win_fence, P(int assert, MPI_Win w), P(assert, w))
STOPS(Mrecv, P(void *b, int n, MPI_Datatype t, MPI_Message *m, MPI_Status *s), P(b, n, t, m, s))
STOPS(Imrecv, P(void *b, int n, MPI_Datatype t, MPI_Message *m, MPI_Request *q), P(b, n, t, m, q))
STOPS(Alltoallw, P(const void *s, const int sn[], const int sd[], const MPI_Datatype st[], void *r, const int rn[], const int rd[],
      const MPI_Datatype rt[], MPI_Comm c), P(s, sn, sd, st, r, rn, rd, rt, c))
STOPS(Intercomm_create, P(MPI_Comm l, int ll, MPI_Comm p, int rl, int tag, MPI_Comm *new), P(l, ll, p, rl, tag, new))

#ifdef OPEN_MPI
/* The Fortran functions of Open MPI call PMPI_ themselves; those of MPICH call MPI_ and are recorded above. Addresses that
 * mean something in Fortran are variables of the library. */
extern int mpi_fortran_in_place_, mpi_fortran_bottom_, mpi_fortran_status_ignore_, mpi_fortran_statuses_ignore_;
#pragma weak mpi_fortran_in_place_
#pragma weak mpi_fortran_bottom_
#pragma weak mpi_fortran_status_ignore_
#pragma weak mpi_fortran_statuses_ignore_
typedef MPI_Fint F;
static void *at(void *p) {
    if (p == (void *)&mpi_fortran_in_place_) return MPI_IN_PLACE;
    if (p == (void *)&mpi_fortran_bottom_) return MPI_BOTTOM;
    return p;
}
static void give(F *status, MPI_Status *mine) {
    if ((void *)status != (void *)&mpi_fortran_status_ignore_) PMPI_Status_c2f(mine, status);
}
#define C PMPI_Comm_f2c(*c)
#define T(t) PMPI_Type_f2c(*t)
#define FSEND(name, Name) void name(void *b, F *n, F *t, F *to, F *tag, F *c, F *e) { *e = MPI_##Name(at(b), *n, T(t), *to, *tag, C); }
FSEND(mpi_send_, Send)
FSEND(mpi_ssend_, Ssend)
FSEND(mpi_rsend_, Rsend)
FSEND(mpi_bsend_, Bsend)
#define FISEND(name, Name)                                                                                         \
    void name(void *b, F *n, F *t, F *to, F *tag, F *c, F *q, F *e) {                                              \
        MPI_Request own;                                                                                           \
        *e = MPI_##Name(at(b), *n, T(t), *to, *tag, C, &own);                                                      \
        *q = PMPI_Request_c2f(own);                                                                                \
    }
FISEND(mpi_isend_, Isend)
FISEND(mpi_issend_, Issend)
FISEND(mpi_irecv_, Irecv)
FISEND(mpi_send_init_, Send_init)
FISEND(mpi_recv_init_, Recv_init)
void mpi_init_(F *e) { *e = MPI_Init(0, 0); }
void mpi_init_thread_(F *r, F *p, F *e) { int provided; *e = MPI_Init_thread(0, 0, *r, &provided); *p = provided; }
void mpi_finalize_(F *e) { *e = MPI_Finalize(); }
void mpi_recv_(void *b, F *n, F *t, F *from, F *tag, F *c, F *s, F *e) {
    MPI_Status mine;
    *e = MPI_Recv(at(b), *n, T(t), *from, *tag, C, &mine);
    give(s, &mine);
}
void mpi_sendrecv_(void *sb, F *sn, F *st, F *to, F *stag, void *rb, F *rn, F *rt, F *from, F *rtag, F *c, F *s, F *e) {
    MPI_Status mine;
    *e = MPI_Sendrecv(at(sb), *sn, T(st), *to, *stag, at(rb), *rn, T(rt), *from, *rtag, C, &mine);
    give(s, &mine);
}
void mpi_wait_(F *q, F *s, F *e) {
    MPI_Status mine;
    MPI_Request own = PMPI_Request_f2c(*q);
    *e = MPI_Wait(&own, &mine);
    *q = PMPI_Request_c2f(own);
    give(s, &mine);
}
void mpi_waitall_(F *n, F *q, F *s, F *e) {
    MPI_Request *own = need(sizeof *own * (size_t)(*n + 1));
    MPI_Status *mine = need(sizeof *mine * (size_t)(*n + 1));
    for (int k = 0; k < *n; k++) own[k] = PMPI_Request_f2c(q[k]);
    *e = MPI_Waitall(*n, own, mine);
    int ignores = (void *)s == (void *)&mpi_fortran_statuses_ignore_;
    for (int k = 0; k < *n; k++) {
        q[k] = PMPI_Request_c2f(own[k]);
        if (!ignores) PMPI_Status_c2f(&mine[k], s + k * (int)(sizeof(MPI_Status) / sizeof(F)));
    }
    free(own);
    free(mine);
}
void mpi_sendrecv_replace_(void *b, F *n, F *t, F *to, F *stag, F *from, F *rtag, F *c, F *s, F *e) {
    MPI_Status mine;
    *e = MPI_Sendrecv_replace(at(b), *n, T(t), *to, *stag, *from, *rtag, C, &mine);
    give(s, &mine);
}
void mpi_probe_(F *from, F *tag, F *c, F *s, F *e) {
    MPI_Status mine;
    *e = MPI_Probe(*from, *tag, C, &mine);
    give(s, &mine);
}
void mpi_iprobe_(F *from, F *tag, F *c, F *flag, F *s, F *e) {
    MPI_Status mine;
    int there;
    *e = MPI_Iprobe(*from, *tag, C, &there, &mine);
    *flag = there != 0;
    if (there) give(s, &mine);
}
void mpi_test_(F *q, F *flag, F *s, F *e) {
    MPI_Status mine;
    int done;
    MPI_Request own = PMPI_Request_f2c(*q);
    *e = MPI_Test(&own, &done, &mine);
    *q = PMPI_Request_c2f(own);
    *flag = done != 0;
    if (done) give(s, &mine);
}
/* Several requests of Fortran as those of C, and back. */
static MPI_Request *from_fortran(int n, const F *q) {
    MPI_Request *own = need(sizeof *own * (size_t)(n + 1));
    for (int k = 0; k < n; k++) own[k] = PMPI_Request_f2c(q[k]);
    return own;
}
static void to_fortran(int n, MPI_Request *own, F *q) {
    for (int k = 0; k < n; k++) q[k] = PMPI_Request_c2f(own[k]);
    free(own);
}
static void give_all(F *s, MPI_Status *mine, int n) {
    if ((void *)s != (void *)&mpi_fortran_statuses_ignore_)
        for (int k = 0; k < n; k++) PMPI_Status_c2f(&mine[k], s + k * (int)(sizeof(MPI_Status) / sizeof(F)));
    free(mine);
}
/* Fortran counts from 1. */
void mpi_waitany_(F *n, F *q, F *index, F *s, F *e) {
    MPI_Status mine;
    int found;
    MPI_Request *own = from_fortran(*n, q);
    *e = MPI_Waitany(*n, own, &found, &mine);
    to_fortran(*n, own, q);
    *index = found == MPI_UNDEFINED ? MPI_UNDEFINED : found + 1;
    give(s, &mine);
}
void mpi_testany_(F *n, F *q, F *index, F *flag, F *s, F *e) {
    MPI_Status mine;
    int found, done;
    MPI_Request *own = from_fortran(*n, q);
    *e = MPI_Testany(*n, own, &found, &done, &mine);
    to_fortran(*n, own, q);
    *index = !done || found == MPI_UNDEFINED ? MPI_UNDEFINED : found + 1;
    *flag = done != 0;
    if (done) give(s, &mine);
}
void mpi_testall_(F *n, F *q, F *flag, F *s, F *e) {
    int done;
    MPI_Request *own = from_fortran(*n, q);
    MPI_Status *mine = need(sizeof *mine * (size_t)(*n + 1));
    *e = MPI_Testall(*n, own, &done, mine);
    to_fortran(*n, own, q);
    *flag = done != 0;
    give_all(s, mine, done ? *n : 0);
}
#define FSOME(name, Name)                                                                                          \
    void name(F *n, F *q, F *count, F *indices, F *s, F *e) {                                                      \
        int done, *found = need(sizeof *found * (size_t)(*n + 1));                                                 \
        MPI_Request *own = from_fortran(*n, q);                                                                    \
        MPI_Status *mine = need(sizeof *mine * (size_t)(*n + 1));                                                  \
        *e = MPI_##Name(*n, own, &done, found, mine);                                                              \
        to_fortran(*n, own, q);                                                                                    \
        *count = done;                                                                                             \
        if (done == MPI_UNDEFINED) done = 0;                                                                       \
        for (int k = 0; k < done; k++) indices[k] = found[k] + 1;                                                  \
        give_all(s, mine, done);                                                                                   \
        free(found);                                                                                               \
    }
FSOME(mpi_waitsome_, Waitsome)
FSOME(mpi_testsome_, Testsome)
void mpi_startall_(F *n, F *q, F *e) {
    MPI_Request *own = from_fortran(*n, q);
    *e = MPI_Startall(*n, own);
    to_fortran(*n, own, q);
}
void mpi_request_free_(F *q, F *e) {
    MPI_Request own = PMPI_Request_f2c(*q);
    *e = MPI_Request_free(&own);
    *q = PMPI_Request_c2f(own);
}
void mpi_cancel_(F *q, F *e) { MPI_Request own = PMPI_Request_f2c(*q); *e = MPI_Cancel(&own); }
void mpi_exscan_(void *s, void *r, F *n, F *t, F *op, F *c, F *e) { *e = MPI_Exscan(at(s), at(r), *n, T(t), PMPI_Op_f2c(*op), C); }
void mpi_reduce_scatter_(void *s, void *r, F *n, F *t, F *op, F *c, F *e) { *e = MPI_Reduce_scatter(at(s), at(r), n, T(t), PMPI_Op_f2c(*op), C); }
void mpi_reduce_scatter_block_(void *s, void *r, F *n, F *t, F *op, F *c, F *e) { *e = MPI_Reduce_scatter_block(at(s), at(r), *n, T(t), PMPI_Op_f2c(*op), C); }
void mpi_gatherv_(void *s, F *sn, F *st, void *r, F *rn, F *rd, F *rt, F *root, F *c, F *e) { *e = MPI_Gatherv(at(s), *sn, T(st), at(r), rn, rd, T(rt), *root, C); }
void mpi_scatterv_(void *s, F *sn, F *sd, F *st, void *r, F *rn, F *rt, F *root, F *c, F *e) { *e = MPI_Scatterv(at(s), sn, sd, T(st), at(r), *rn, T(rt), *root, C); }
void mpi_allgatherv_(void *s, F *sn, F *st, void *r, F *rn, F *rd, F *rt, F *c, F *e) { *e = MPI_Allgatherv(at(s), *sn, T(st), at(r), rn, rd, T(rt), C); }
void mpi_alltoallv_(void *s, F *sn, F *sd, F *st, void *r, F *rn, F *rd, F *rt, F *c, F *e) { *e = MPI_Alltoallv(at(s), sn, sd, T(st), at(r), rn, rd, T(rt), C); }
#define FBACK(call) { MPI_Request own; *e = call; *q = PMPI_Request_c2f(own); }
void mpi_ibarrier_(F *c, F *q, F *e) FBACK(MPI_Ibarrier(C, &own))
void mpi_ibcast_(void *b, F *n, F *t, F *root, F *c, F *q, F *e) FBACK(MPI_Ibcast(at(b), *n, T(t), *root, C, &own))
void mpi_ireduce_(void *s, void *r, F *n, F *t, F *op, F *root, F *c, F *q, F *e) FBACK(MPI_Ireduce(at(s), at(r), *n, T(t), PMPI_Op_f2c(*op), *root, C, &own))
void mpi_iallreduce_(void *s, void *r, F *n, F *t, F *op, F *c, F *q, F *e) FBACK(MPI_Iallreduce(at(s), at(r), *n, T(t), PMPI_Op_f2c(*op), C, &own))
void mpi_iallgather_(void *s, F *sn, F *st, void *r, F *rn, F *rt, F *c, F *q, F *e) FBACK(MPI_Iallgather(at(s), *sn, T(st), at(r), *rn, T(rt), C, &own))
void mpi_ialltoall_(void *s, F *sn, F *st, void *r, F *rn, F *rt, F *c, F *q, F *e) FBACK(MPI_Ialltoall(at(s), *sn, T(st), at(r), *rn, T(rt), C, &own))
void mpi_comm_create_(F *c, F *g, F *new, F *e) { MPI_Comm made; *e = MPI_Comm_create(C, PMPI_Group_f2c(*g), &made); *new = PMPI_Comm_c2f(made); }
void mpi_comm_free_(F *c, F *e) { MPI_Comm gone = C; *e = MPI_Comm_free(&gone); *c = PMPI_Comm_c2f(gone); }
void mpi_cart_create_(F *c, F *n, F *dims, F *periods, F *reorder, F *new, F *e) {
    MPI_Comm made;
    int *round = need(sizeof *round * (size_t)(*n + 1));
    for (int k = 0; k < *n; k++) round[k] = periods[k] != 0;
    *e = MPI_Cart_create(C, *n, dims, round, *reorder != 0, &made);
    *new = PMPI_Comm_c2f(made);
    free(round);
}
void mpi_cart_sub_(F *c, F *remain, F *new, F *e) {
    MPI_Comm made;
    int n = 0;
    PMPI_Cartdim_get(C, &n);
    int *stays = need(sizeof *stays * (size_t)(n + 1));
    for (int k = 0; k < n; k++) stays[k] = remain[k] != 0;
    *e = MPI_Cart_sub(C, stays, &made);
    *new = PMPI_Comm_c2f(made);
    free(stays);
}
void mpi_start_(F *q, F *e) { MPI_Request own = PMPI_Request_f2c(*q); *e = MPI_Start(&own); }
void mpi_barrier_(F *c, F *e) { *e = MPI_Barrier(C); }
void mpi_bcast_(void *b, F *n, F *t, F *root, F *c, F *e) { *e = MPI_Bcast(at(b), *n, T(t), *root, C); }
void mpi_reduce_(void *s, void *r, F *n, F *t, F *op, F *root, F *c, F *e) { *e = MPI_Reduce(at(s), at(r), *n, T(t), PMPI_Op_f2c(*op), *root, C); }
void mpi_allreduce_(void *s, void *r, F *n, F *t, F *op, F *c, F *e) { *e = MPI_Allreduce(at(s), at(r), *n, T(t), PMPI_Op_f2c(*op), C); }
void mpi_scan_(void *s, void *r, F *n, F *t, F *op, F *c, F *e) { *e = MPI_Scan(at(s), at(r), *n, T(t), PMPI_Op_f2c(*op), C); }
void mpi_gather_(void *s, F *sn, F *st, void *r, F *rn, F *rt, F *root, F *c, F *e) { *e = MPI_Gather(at(s), *sn, T(st), at(r), *rn, T(rt), *root, C); }
void mpi_scatter_(void *s, F *sn, F *st, void *r, F *rn, F *rt, F *root, F *c, F *e) { *e = MPI_Scatter(at(s), *sn, T(st), at(r), *rn, T(rt), *root, C); }
void mpi_allgather_(void *s, F *sn, F *st, void *r, F *rn, F *rt, F *c, F *e) { *e = MPI_Allgather(at(s), *sn, T(st), at(r), *rn, T(rt), C); }
void mpi_alltoall_(void *s, F *sn, F *st, void *r, F *rn, F *rt, F *c, F *e) { *e = MPI_Alltoall(at(s), *sn, T(st), at(r), *rn, T(rt), C); }
void mpi_comm_dup_(F *c, F *new, F *e) { MPI_Comm made; *e = MPI_Comm_dup(C, &made); *new = PMPI_Comm_c2f(made); }
void mpi_comm_split_(F *c, F *colour, F *key, F *new, F *e) { MPI_Comm made; *e = MPI_Comm_split(C, *colour, *key, &made); *new = PMPI_Comm_c2f(made); }
#endif
