/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_peer.c - does with libpawl what CuratorPeer.java does with Java Curator: the words of
 * curator_recipes.py.
 *
 *   recipe_peer SERVERS SESSION_MS REFEREE_PORT
 *
 * Each line of standard input is "ACTOR VERB ARGUMENT..."; an actor is made at its first line. Each
 * line is answered, when it is done, with "ACTOR ok ..." or "ACTOR error ...". Ends with its
 * input. */
#include "recipe_peer.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct thing {
    struct thing *next;
    char *name;
    void *what;
    free_fn done_with;
};

struct line {
    struct line *next;
    char *text;
};

struct actor {
    struct actor *next;
    char *name;
    struct pawl_client *client;
    struct thing *things;
    FILE *referee;
    pthread_mutex_t lock; /* guards the lines */
    pthread_cond_t has_line;
    struct line *first, **last;
};

static const char *servers;
static int session_ms, referee_port;
static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

static _Noreturn void die(const char *why)
{
    fprintf(stderr, "recipe_peer: %s\n", why);
    exit(2);
}

static void say(const char *name, const char *verdict, const char *text)
{
    pthread_mutex_lock(&output);
    printf("%s %s%s%s\n", name, verdict, *text != '\0' ? " " : "", text);
    fflush(stdout);
    pthread_mutex_unlock(&output);
}

/* ---- what verbs use ---- */

struct pawl_client *actor_client(struct actor *a)
{
    return a->client;
}

static struct thing *find(struct actor *a, const char *kind, const char *path, bool make)
{
    size_t size = strlen(kind) + strlen(path) + 2;
    char *name = malloc(size);
    struct thing *t;

    snprintf(name, size, "%s %s", kind, path);
    for (t = a->things; t != NULL && strcmp(t->name, name) != 0; t = t->next) {
    }
    if (t == NULL && make) {
        t = calloc(1, sizeof(*t));
        t->name = name;
        t->next = a->things;
        a->things = t;
        return t;
    }
    free(name);
    return t;
}

void *actor_thing(struct actor *a, const char *kind, const char *path)
{
    struct thing *t = find(a, kind, path, false);

    return t == NULL ? NULL : t->what;
}

void actor_keep(struct actor *a, const char *kind, const char *path, void *thing, free_fn done_with)
{
    struct thing *t = find(a, kind, path, true);

    t->what = thing;
    t->done_with = done_with;
}

static FILE *reach_referee(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)referee_port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        die("no referee");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fdopen(fd, "r+");
}

int actor_referee(struct actor *a, char *out, const char *what, const char *path, const char *mode)
{
    char verdict[512];

    if (a->referee == NULL) {
        a->referee = reach_referee();
    }
    fprintf(a->referee, "%s %s %s %s\n", what, path, mode, a->name);
    fflush(a->referee);
    if (fgets(verdict, sizeof(verdict), a->referee) == NULL) {
        die("the referee is gone");
    }
    if (strcmp(verdict, "ok\n") != 0) {
        verdict[strcspn(verdict, "\n")] = '\0';
        snprintf(out, ANSWER_BYTES, "the referee says: %s", verdict);
        return PAWL_ERR_INVALID_STATE;
    }
    return PAWL_OK;
}

int actor_bump(struct actor *a, const char *path)
{
    struct pawl_reply *reply = NULL;
    char name[512], digits[32] = "";
    int rc;

    snprintf(name, sizeof(name), "%s-count", path);
    rc = pawl_get(a->client, name, NULL, &reply);
    if (rc == PAWL_OK && reply->data.len > 0 && reply->data.len < sizeof(digits)) {
        memcpy(digits, reply->data.data, reply->data.len);
        snprintf(digits, sizeof(digits), "%d", atoi(digits) + 1);
        rc = pawl_set(a->client, PAWL_SET(.path = name, .data = {digits, strlen(digits)}), NULL);
    }
    pawl_reply_free(reply);
    return rc;
}

int actor_alone(struct actor *a, const char *path, char *out)
{
    int rc = actor_referee(a, out, "enter", path, "write");

    if (rc == PAWL_OK) {
        rc = actor_bump(a, path);
    }
    return rc != PAWL_OK ? rc : actor_referee(a, out, "leave", path, "write");
}

int answer_yes_no(char *out, int rc)
{
    if (rc == PAWL_OK || rc == PAWL_ERR_OPERATION_TIMEOUT) {
        snprintf(out, ANSWER_BYTES, "%s", rc == PAWL_OK ? "yes" : "no");
        return PAWL_OK;
    }
    return rc;
}

/* ---- verbs of the connection itself ---- */

static int connect_now(struct actor *a, char **v, char *out)
{
    int rc = pawl_client_wait_connected(a->client, PATIENCE_MS);

    (void)v;
    snprintf(out, ANSWER_BYTES, "%lld", (long long)pawl_client_session_id(a->client));
    return rc;
}

static int close_now(struct actor *a, char **v, char *out)
{
    (void)v;
    (void)out;
    pawl_client_close(a->client);
    a->client = NULL;
    return PAWL_OK;
}

static int stat_now(struct actor *a, char **v, char *out)
{
    struct pawl_reply *reply = NULL;
    int rc = pawl_exists(a->client, v[0], NULL, &reply);

    if (rc == PAWL_OK) {
        snprintf(out, ANSWER_BYTES, "%lld", (long long)reply->stat.ephemeral_owner);
    } else if (rc == PAWL_ERR_NO_NODE) {
        snprintf(out, ANSWER_BYTES, "none");
        rc = PAWL_OK;
    }
    pawl_reply_free(reply);
    return rc;
}

/* Everything that was kept, the newest first; the connection stays. */
static int free_all(struct actor *a, char **v, char *out)
{
    struct thing *t;

    (void)v;
    (void)out;
    while ((t = a->things) != NULL) {
        a->things = t->next;
        if (t->what != NULL && t->done_with != NULL) {
            t->done_with(t->what);
        }
        free(t->name);
        free(t);
    }
    return PAWL_OK;
}

static const struct verb plain_verbs[] = {{"free", free_all},
                                          {"connect", connect_now},
                                          {"close", close_now},
                                          {"stat", stat_now},
                                          {NULL, NULL}};

static const struct verb *const all_verbs[] = {plain_verbs,     lock_verbs,    election_verbs,
                                               barrier_verbs,   counter_verbs, queue_verbs,
                                               discovery_verbs, group_verbs};

static verb_fn find_verb(const char *name)
{
    for (size_t i = 0; i < sizeof(all_verbs) / sizeof(all_verbs[0]); i++) {
        for (const struct verb *v = all_verbs[i]; v->name != NULL; v++) {
            if (strcmp(v->name, name) == 0) {
                return v->run;
            }
        }
    }
    return NULL;
}

static void say_ready(void)
{
    printf("ready");
    for (size_t i = 0; i < sizeof(all_verbs) / sizeof(all_verbs[0]); i++) {
        for (const struct verb *v = all_verbs[i]; v->name != NULL; v++) {
            printf(" %s", v->name);
        }
    }
    printf("\n");
    fflush(stdout);
}

/* ---- actors ---- */

static struct line *next_line(struct actor *a)
{
    struct line *line;

    pthread_mutex_lock(&a->lock);
    while (a->first == NULL) {
        pthread_cond_wait(&a->has_line, &a->lock);
    }
    line = a->first;
    a->first = line->next;
    if (a->first == NULL) {
        a->last = &a->first;
    }
    pthread_mutex_unlock(&a->lock);
    return line;
}

static void run_line(struct actor *a, char *text)
{
    char *words[MAX_WORDS + 1] = {NULL}, *save = NULL, out[ANSWER_BYTES] = "";
    verb_fn run;
    int n = 0, rc;

    for (char *w = strtok_r(text, " ", &save); w != NULL && n < MAX_WORDS;
         w = strtok_r(NULL, " ", &save)) {
        words[n++] = w;
    }
    run = n > 0 ? find_verb(words[0]) : NULL;
    if (run == NULL) {
        say(a->name, "error", "no such verb");
        return;
    }
    rc = run(a, words + 1, out);
    if (rc == PAWL_OK) {
        say(a->name, "ok", out);
    } else {
        say(a->name, "error", *out != '\0' ? out : pawl_error_name(rc));
    }
}

static void *act(void *arg)
{
    struct actor *a = arg;

    for (;;) {
        struct line *line = next_line(a);

        run_line(a, line->text);
        free(line->text);
        free(line);
    }
    return NULL;
}

static struct actor *new_actor(const char *name)
{
    struct pawl_client_options options;
    struct actor *a = calloc(1, sizeof(*a));
    pthread_t thread;

    a->name = strdup(name);
    a->last = &a->first;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->has_line, NULL);
    pawl_client_options_init(&options);
    options.servers = servers;
    options.session_timeout_ms = session_ms;
    options.retry = (struct pawl_retry){.kind = PAWL_RETRY_FOREVER, .pause_ms = 20};
    if (pawl_client_open(&options, &a->client) != PAWL_OK ||
        pthread_create(&thread, NULL, act, a) != 0) {
        die("cannot make an actor");
    }
    pthread_detach(thread);
    return a;
}

static void give_line(struct actor *a, const char *text)
{
    struct line *line = calloc(1, sizeof(*line));

    line->text = strdup(text);
    pthread_mutex_lock(&a->lock);
    *a->last = line;
    a->last = &line->next;
    pthread_cond_signal(&a->has_line);
    pthread_mutex_unlock(&a->lock);
}

int main(int argc, char **argv)
{
    static struct actor *actors; /* where whoever looks for leaks finds them */
    struct actor *a;
    char *line = NULL;
    size_t size = 0;

    if (argc != 4) {
        die("usage: recipe_peer SERVERS SESSION_MS REFEREE_PORT");
    }
    servers = argv[1];
    session_ms = atoi(argv[2]);
    referee_port = atoi(argv[3]);
    say_ready();
    while (getline(&line, &size, stdin) > 0) {
        char *text = strchr(line, ' ');

        line[strcspn(line, "\n")] = '\0';
        if (text == NULL) {
            die("a line without a verb");
        }
        *text++ = '\0';
        for (a = actors; a != NULL && strcmp(a->name, line) != 0; a = a->next) {
        }
        if (a == NULL) {
            a = new_actor(line);
            a->next = actors;
            actors = a;
        }
        give_line(a, text);
    }
    free(line);
    return 0;
}
