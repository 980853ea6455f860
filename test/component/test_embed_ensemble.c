/* SPDX-License-Identifier: Apache-2.0 */
/* <pawl/ensemble.h>, and members of <pawl/server.h>, as their users see them: through the headers,
 * with clients of the library. */
#define _GNU_SOURCE
#include <pawl/pawl.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"

#include "lib/patience.h"

enum { TREE_BYTES = 16384, SESSION_MS = 40000 };

static char why[512];

/* ---- clients ---- */

static struct pawl_client *client_of(const char *servers)
{
    struct pawl_client *c;

    assert_int_equal(
        pawl_client_open(PAWL_CLIENT_OPTIONS(.servers = servers, .session_timeout_ms = SESSION_MS,
                                             .timeout_ms = SOON_MS,
                                             .retry = {.kind = PAWL_RETRY_FOREVER, .pause_ms = 20}),
                         &c),
        PAWL_OK);
    assert_int_equal(pawl_client_wait_connected(c, SOON_MS), PAWL_OK);
    return c;
}

/* Its answer may be lost with a member: the client asks again until one comes. */
static void write_node(struct pawl_client *c, int number)
{
    char path[32], text[32];

    snprintf(path, sizeof(path), "/t/%04d", number);
    snprintf(text, sizeof(text), "data %d", number);
    assert_int_equal(pawl_create(c,
                                 PAWL_CREATE(.path = path, .data = pawl_str(text),
                                             .flags = PAWL_OP_PARENTS | PAWL_OP_IDEMPOTENT),
                                 NULL),
                     PAWL_OK);
}

static void write_nodes(struct pawl_client *c, int from, int to)
{
    for (int i = from; i < to; i++) {
        write_node(c, i);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t print_node(struct pawl_client *c, const char *name, char *out, size_t size)
{
    struct pawl_reply *reply;
    char path[64];
    int len;

    snprintf(path, sizeof(path), "/t/%s", name);
    assert_int_equal(pawl_get(c, path, NULL, &reply), PAWL_OK);
    len = snprintf(out, size, "%s=%.*s at 0x%llx\n", name, (int)reply->data.len,
                   (const char *)reply->data.data, (unsigned long long)reply->stat.mzxid);
    assert_true(len > 0 && (size_t)len < size);
    pawl_reply_free(reply);
    return (size_t)len;
}

/* All below /t as this server has it, when it has all that was acknowledged; how many. */
static size_t print_tree(const char *servers, char *out)
{
    struct pawl_client *c = client_of(servers);
    struct pawl_reply *reply;
    const char *names[512];
    size_t n, at = 0;

    assert_int_equal(pawl_sync(c, "/", NULL), PAWL_OK);
    out[0] = '\0';
    assert_int_equal(pawl_children(c, "/t", NULL, &reply), PAWL_OK);
    n = reply->children.n;
    assert_true(n <= sizeof(names) / sizeof(names[0]));
    for (size_t i = 0; i < n; i++) {
        names[i] = reply->children.items[i];
    }
    qsort(names, n, sizeof(names[0]), by_name);
    for (size_t i = 0; i < n; i++) {
        at += print_node(c, names[i], out + at, TREE_BYTES - at);
    }
    pawl_reply_free(reply);
    pawl_client_close(c);
    return n;
}

static void expect_equal_trees(struct pawl_ensemble *e, int n_members, size_t n_nodes)
{
    static char first[TREE_BYTES], other[TREE_BYTES];

    assert_int_equal(print_tree(pawl_ensemble_address(e, 1), first), n_nodes);
    for (int i = 2; i <= n_members; i++) {
        print_tree(pawl_ensemble_address(e, i), other);
        assert_string_equal(other, first);
    }
}

/* ---- ensembles ---- */

static char folder[128];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "%s/pawl-embed-XXXXXX",
             getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR"));
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    char command[160];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static struct pawl_ensemble *start(const struct pawl_ensemble_options *options)
{
    struct pawl_ensemble *e;
    int rc = pawl_ensemble_start(options, &e, why, sizeof(why));

    if (rc != PAWL_OK) {
        fail_msg("%s: %s", pawl_error_name(rc), why);
    }
    return e;
}

static struct pawl_ensemble *start_members(int n_voters, int n_observers, const char *where)
{
    struct pawl_ensemble_options options;

    pawl_ensemble_options_init(&options);
    options.n_voters = n_voters;
    options.n_observers = n_observers;
    options.folder = where;
    options.tick_ms = 1000; /* on a busy machine nobody is taken for dead */
    return start(&options);
}

static void wait_for_all(struct pawl_ensemble *e)
{
    assert_int_equal(pawl_ensemble_wait(e, SOON_MS), PAWL_OK);
}

static int leader_of(struct pawl_ensemble *e)
{
    int leader;

    wait_until((leader = pawl_ensemble_leader(e)) != 0);
    return leader;
}

static void stop(struct pawl_ensemble *e)
{
    assert_int_equal(pawl_ensemble_stop(e), PAWL_OK);
}

static void three_serve_when_they_are_started(void **state)
{
    struct pawl_ensemble *e = start_members(3, 0, NULL);
    int leader = pawl_ensemble_leader(e), n_followers = 0;
    struct pawl_client *c = client_of(pawl_ensemble_hosts(e));
    char hosts[128];

    (void)state;
    assert_in_range(leader, 1, 3);
    for (int i = 1; i <= 3; i++) {
        n_followers += pawl_ensemble_role(e, i) == PAWL_ROLE_FOLLOWER;
    }
    assert_int_equal(pawl_ensemble_role(e, leader), PAWL_ROLE_LEADER);
    assert_int_equal(n_followers, 2);
    snprintf(hosts, sizeof(hosts), "%s,%s,%s", pawl_ensemble_address(e, 1),
             pawl_ensemble_address(e, 2), pawl_ensemble_address(e, 3));
    assert_string_equal(pawl_ensemble_hosts(e), hosts);
    write_nodes(c, 0, 5);
    pawl_client_close(c);
    expect_equal_trees(e, 3, 5);
    stop(e);
}

/* Member after member, each time the leader: `end` and start it again while writes go on. */
static void lose_leaders(struct pawl_ensemble *e, int n_members, size_t *n_nodes,
                         int (*end)(struct pawl_ensemble *e, int member))
{
    struct pawl_client *c = client_of(pawl_ensemble_hosts(e));
    int number = (int)*n_nodes, leader;

    for (int i = 0; i < 3; i++) {
        write_nodes(c, number, number + 10);
        leader = leader_of(e);
        assert_int_equal(end(e, leader), PAWL_OK);
        assert_int_equal(pawl_ensemble_role(e, leader), PAWL_ROLE_NOT_SERVING);
        write_nodes(c, number + 10, number + 20);
        assert_int_not_equal(pawl_ensemble_leader(e), leader);
        assert_int_equal(pawl_ensemble_start_member(e, leader), PAWL_OK);
        wait_for_all(e);
        number += 20;
    }
    pawl_client_close(c);
    *n_nodes = (size_t)number;
    expect_equal_trees(e, n_members, *n_nodes);
}

static void it_survives_its_leaders_stopped(void **state)
{
    struct pawl_ensemble *e = start_members(3, 0, NULL);
    size_t n = 0;

    (void)state;
    lose_leaders(e, 3, &n, pawl_ensemble_stop_member);
    stop(e);
}

static void it_survives_its_leaders_killed(void **state)
{
    struct pawl_ensemble *e = start_members(3, 0, NULL);
    size_t n = 0;

    (void)state;
    lose_leaders(e, 3, &n, pawl_ensemble_kill_member);
    stop(e);
}

static void what_was_acknowledged_survives_the_death_of_all(void **state)
{
    struct pawl_ensemble *e = start_members(3, 0, NULL);
    struct pawl_client *c = client_of(pawl_ensemble_hosts(e));

    (void)state;
    for (int round = 0; round < 3; round++) {
        write_nodes(c, round * 10, round * 10 + 10);
        for (int i = 1; i <= 3; i++) {
            assert_int_equal(pawl_ensemble_kill_member(e, i), PAWL_OK);
        }
        assert_int_equal(pawl_ensemble_leader(e), 0);
        assert_int_equal(pawl_ensemble_wait(e, 0), PAWL_ERR_OPERATION_TIMEOUT);
        for (int i = 1; i <= 3; i++) {
            assert_int_equal(pawl_ensemble_start_member(e, i), PAWL_OK);
        }
        wait_for_all(e);
        expect_equal_trees(e, 3, (size_t)round * 10 + 10);
    }
    pawl_client_close(c);
    stop(e);
}

static void in_directories_it_is_found_again(void **state)
{
    struct pawl_ensemble *e = start_members(3, 0, folder);
    struct pawl_client *c = client_of(pawl_ensemble_hosts(e));
    char path[160], line[16] = "";
    size_t n = 10;
    FILE *file;

    (void)state;
    write_nodes(c, 0, 10);
    pawl_client_close(c);
    stop(e);
    snprintf(path, sizeof(path), "%s/2/myid", folder);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, "2\n");
    fclose(file);
    e = start_members(3, 0, folder);
    expect_equal_trees(e, 3, 10);
    lose_leaders(e, 3, &n, pawl_ensemble_kill_member);
    stop(e);
}

static void two_ensembles_do_not_meet(void **state)
{
    struct pawl_ensemble *one = start_members(3, 0, NULL), *other = start_members(3, 0, NULL);
    struct pawl_client *c = client_of(pawl_ensemble_hosts(one));
    struct pawl_client *d = client_of(pawl_ensemble_hosts(other));

    (void)state;
    write_nodes(c, 0, 3);
    write_nodes(d, 0, 7);
    pawl_client_close(c);
    pawl_client_close(d);
    expect_equal_trees(one, 3, 3);
    stop(one);
    expect_equal_trees(other, 3, 7);
    stop(other);
}

static void observers_serve_and_do_not_vote(void **state)
{
    struct pawl_ensemble *e = start_members(1, 2, NULL);
    struct pawl_client *c = client_of(pawl_ensemble_address(e, 3));

    (void)state;
    assert_int_equal(pawl_ensemble_leader(e), 1);
    assert_int_equal(pawl_ensemble_role(e, 2), PAWL_ROLE_OBSERVER);
    assert_int_equal(pawl_ensemble_role(e, 3), PAWL_ROLE_OBSERVER);
    assert_int_equal(pawl_ensemble_kill_member(e, 2), PAWL_OK);
    write_nodes(c, 0, 5);
    assert_int_equal(pawl_ensemble_start_member(e, 2), PAWL_OK);
    wait_for_all(e);
    pawl_client_close(c);
    expect_equal_trees(e, 3, 5);
    stop(e);
}

/* ---- ports ---- */

static int try_to_connect(const char *address)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), error;

    a.sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1));
    error = connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 ? 0 : errno;
    close(fd);
    return error;
}

static void a_port_stays_the_members_while_it_is_stopped(void **state)
{
    struct pawl_ensemble *e = start_members(3, 0, NULL);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char address[32];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    snprintf(address, sizeof(address), "%s", pawl_ensemble_address(e, 2));
    assert_int_equal(try_to_connect(address), 0);
    assert_int_equal(pawl_ensemble_stop_member(e, 2), PAWL_OK);
    assert_int_equal(try_to_connect(address), ECONNREFUSED);
    a.sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1));
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), -1);
    assert_int_equal(errno, EADDRINUSE);
    close(fd);
    assert_int_equal(pawl_ensemble_start_member(e, 2), PAWL_OK);
    assert_string_equal(pawl_ensemble_address(e, 2), address);
    wait_for_all(e);
    assert_int_equal(try_to_connect(address), 0);
    stop(e);
}

/* A child that lives until it is hung up on. It has said that it runs: what fork() does in it, as
 * late as it may come, is done. */
static pid_t fork_child(int *hang_up)
{
    int running[2], ends[2];
    pid_t child;
    char c = 0;

    assert_int_equal(pipe(running), 0);
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(write(running[1], &c, 1) == 1 && read(ends[0], &c, 1) == 0 ? 0 : 1);
    }
    assert_int_equal(read(running[0], &c, 1), 1);
    close(running[0]);
    close(running[1]);
    close(ends[0]);
    *hang_up = ends[1];
    return child;
}

static void a_forked_child_keeps_nothing_of_it(void **state)
{
    struct pawl_ensemble *e = start_members(3, 0, NULL);
    char address[32];
    int hang_up, status;
    pid_t child;

    (void)state;
    snprintf(address, sizeof(address), "%s", pawl_ensemble_address(e, 1));
    child = fork_child(&hang_up);
    assert_int_equal(pawl_ensemble_stop_member(e, 1),
                     PAWL_OK); /* its port is still nobody else's */
    assert_int_equal(try_to_connect(address), ECONNREFUSED);
    stop(e);
    close(hang_up);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- what is not allowed ---- */

static void expect_refusal(const struct pawl_ensemble_options *options, int code,
                           const char *expected)
{
    struct pawl_ensemble *e;

    why[0] = '\0';
    assert_int_equal(pawl_ensemble_start(options, &e, why, sizeof(why)), code);
    assert_null(e);
    if (strstr(why, expected) == NULL) {
        fail_msg("\"%s\" is not in: %s", expected, why);
    }
}

static void options_that_make_no_ensemble_are_refused(void **state)
{
    static const char *const bad[] = {"server.9=10.0.0.1:1:2", "zookeeper.dataDir=/tmp",
                                      "dataDir=/x", "dataLogDir=/x", "dynamicConfigFile=/x"};
    static const char *const unreadable[] = {"tickTime=soon"};
    struct pawl_ensemble_options o = {0};

    (void)state;
    expect_refusal(&o, PAWL_ERR_BAD_ARGUMENTS, "pawl_ensemble_options_init()");
    pawl_ensemble_options_init(&o);
    o.n_voters = 0;
    o.n_observers = 3;
    expect_refusal(&o, PAWL_ERR_BAD_ARGUMENTS, "0 voters and 3 observers");
    o.n_voters = 30;
    expect_refusal(&o, PAWL_ERR_BAD_ARGUMENTS, "32 members at most");
    o.n_voters = 3;
    o.n_observers = -1;
    expect_refusal(&o, PAWL_ERR_BAD_ARGUMENTS, "-1 observers");
    pawl_ensemble_options_init(&o);
    o.tick_ms = 0;
    expect_refusal(&o, PAWL_ERR_BAD_ARGUMENTS, "tick_ms is 0");
    pawl_ensemble_options_init(&o);
    o.n_properties = 1;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        o.properties = &bad[i];
        expect_refusal(&o, PAWL_ERR_BAD_ARGUMENTS, bad[i]);
    }
    o.properties = unreadable;
    expect_refusal(&o, PAWL_ERR_CONFIG, "soon");
    pawl_ensemble_options_init(&o);
    o.folder = "/proc/self/cmdline";
    assert_int_not_equal(pawl_ensemble_start(&o, &(struct pawl_ensemble *){NULL}, why, sizeof(why)),
                         PAWL_OK);
    assert_non_null(strstr(why, "/proc/self/cmdline"));
}

static void members_that_are_none_are_refused(void **state)
{
    struct pawl_ensemble *e = start_members(1, 0, NULL);

    (void)state;
    assert_null(pawl_ensemble_address(e, 0));
    assert_null(pawl_ensemble_address(e, 2));
    assert_int_equal(pawl_ensemble_role(e, 2), PAWL_ROLE_NOT_SERVING);
    assert_int_equal(pawl_ensemble_stop_member(e, 2), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_ensemble_kill_member(e, 0), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_ensemble_start_member(e, -1), PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_ensemble_start_member(e, 1), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_ensemble_kill_member(e, 1), PAWL_OK);
    assert_int_equal(pawl_ensemble_kill_member(e, 1), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_ensemble_stop_member(e, 1), PAWL_ERR_INVALID_STATE);
    assert_int_equal(pawl_ensemble_start_member(e, 1), PAWL_OK);
    wait_for_all(e);
    assert_int_equal(pawl_ensemble_leader(e), 1);
    stop(e);
    stop(NULL);
}

/* ---- log and threads ---- */

struct line_count {
    int n_lines, n_bad, n_of[4];
};

static void count_line(enum pawl_log_level level, const char *line, void *arg)
{
    struct line_count *count = arg;
    int member = 0;

    (void)level;
    count->n_lines++; /* one at a time: without a lock */
    if (sscanf(line, "server %d: ", &member) == 1 && member >= 1 && member <= 3) {
        count->n_of[member]++;
    } else {
        count->n_bad++;
    }
}

static void every_line_of_the_log_names_its_member(void **state)
{
    struct line_count count = {0};
    struct pawl_ensemble_options options;
    struct pawl_ensemble *e;

    (void)state;
    pawl_ensemble_options_init(&options);
    options.log = count_line;
    options.log_arg = &count;
    e = start(&options);
    assert_int_equal(pawl_ensemble_kill_member(e, 1), PAWL_OK);
    assert_int_equal(pawl_ensemble_start_member(e, 1), PAWL_OK);
    wait_for_all(e);
    stop(e);
    assert_int_equal(count.n_bad, 0);
    assert_true(count.n_of[1] > 0 && count.n_of[2] > 0 && count.n_of[3] > 0);
}

struct asker {
    struct pawl_ensemble *e;
    _Atomic bool ends;
};

static void *ask_on(void *arg)
{
    struct asker *a = arg;

    while (!atomic_load(&a->ends)) {
        pawl_ensemble_leader(a->e);
        pawl_ensemble_role(a->e, 1);
        pawl_ensemble_wait(a->e, 1);
    }
    return NULL;
}

static void it_may_be_asked_while_members_come_and_go(void **state)
{
    struct asker asker = {.e = start_members(3, 0, NULL)};
    pthread_t threads[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &asker), 0);
    }
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(pawl_ensemble_kill_member(asker.e, i), PAWL_OK);
        assert_int_equal(pawl_ensemble_start_member(asker.e, i), PAWL_OK);
    }
    wait_for_all(asker.e);
    atomic_store(&asker.ends, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    stop(asker.e);
}

/* ---- one member by itself ---- */

enum { N_LINES = 3 };

struct lines {
    int fds[N_LINES * 2];
    char text[N_LINES + 2][64];
    const char *properties[N_LINES + 2];
};

/* A port that nobody else is given; a server may listen on it all the same. */
static int reserve_port(int *fd)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int on = 1;

    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    assert_int_equal(bind(*fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(getsockname(*fd, (struct sockaddr *)&a, &len), 0);
    return ntohs(a.sin_port);
}

static void lines_init(struct lines *l)
{
    int port[2];

    for (int i = 0; i < N_LINES; i++) {
        port[0] = reserve_port(&l->fds[2 * i]);
        port[1] = reserve_port(&l->fds[2 * i + 1]);
        snprintf(l->text[i], sizeof(l->text[i]), "server.%d=127.0.0.1:%d:%d", i + 1, port[0],
                 port[1]);
    }
    strcpy(l->text[N_LINES], "initLimit=20");
    strcpy(l->text[N_LINES + 1], "syncLimit=20");
    for (int i = 0; i < N_LINES + 2; i++) {
        l->properties[i] = l->text[i];
    }
}

static void lines_fini(struct lines *l)
{
    for (int i = 0; i < N_LINES * 2; i++) {
        close(l->fds[i]);
    }
}

static void member_options(const struct lines *l, int id, char *where, size_t size,
                           struct pawl_server_options *out)
{
    snprintf(where, size, "%.100s/%d", folder, id);
    pawl_server_options_init(out);
    out->folder = where;
    out->server_id = id;
    out->properties = l->properties;
    out->n_properties = N_LINES + 2;
}

static bool somebody_leads(struct pawl_server *const servers[N_LINES])
{
    for (int i = 0; i < N_LINES; i++) {
        if (servers[i] != NULL && pawl_server_role(servers[i]) == PAWL_ROLE_LEADER) {
            return true;
        }
    }
    return false;
}

static void a_server_may_be_one_member_of_several(void **state)
{
    struct pawl_server_options options;
    struct pawl_server *servers[N_LINES] = {NULL};
    struct pawl_client *c;
    struct lines lines;
    char where[128];

    (void)state;
    lines_init(&lines);
    for (int i = 0; i < 2; i++) {
        member_options(&lines, i + 1, where, sizeof(where), &options);
        if (pawl_server_start(&options, &servers[i], why, sizeof(why)) != PAWL_OK) {
            fail_msg("%s", why);
        }
    }
    wait_until(somebody_leads(servers));
    c = client_of(pawl_server_address(servers[0]));
    write_nodes(c, 0, 3);
    pawl_client_close(c);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pawl_server_stop(servers[i]), PAWL_OK);
    }
    options.server_id = -1; /* member 2 is known by its file now */
    assert_int_equal(pawl_server_start(&options, &servers[1], why, sizeof(why)), PAWL_OK);
    assert_int_equal(pawl_server_role(servers[1]), PAWL_ROLE_NOT_SERVING);
    assert_int_equal(pawl_server_stop(servers[1]), PAWL_OK);
    lines_fini(&lines);
}

static void expect_member_refused(const struct pawl_server_options *options, int code,
                                  const char *expected)
{
    struct pawl_server *server;

    assert_int_equal(pawl_server_start(options, &server, why, sizeof(why)), code);
    assert_null(server);
    if (strstr(why, expected) == NULL) {
        fail_msg("\"%s\" is not in: %s", expected, why);
    }
}

static void a_member_that_cannot_be_one_is_refused(void **state)
{
    struct pawl_server_options options;
    struct pawl_server *server;
    struct lines lines;
    char where[128];

    (void)state;
    lines_init(&lines);
    member_options(&lines, 1, where, sizeof(where), &options);
    options.folder = NULL;
    options.in_memory = 1;
    expect_member_refused(&options, PAWL_ERR_BAD_ARGUMENTS, "must not forget");
    member_options(&lines, 7, where, sizeof(where), &options);
    expect_member_refused(&options, PAWL_ERR_CONFIG, "7 not in the peer list");
    member_options(&lines, -1, where, sizeof(where), &options);
    expect_member_refused(&options, PAWL_ERR_CONFIG, "myid");
    member_options(&lines, 1, where, sizeof(where), &options);
    options.n_properties = 0;
    expect_member_refused(&options, PAWL_ERR_BAD_ARGUMENTS, "server.N=");
    member_options(&lines, 1, where, sizeof(where), &options);
    assert_int_equal(pawl_server_start(&options, &server, why, sizeof(why)), PAWL_OK);
    assert_int_equal(pawl_server_stop(server), PAWL_OK);
    options.server_id = 2;
    expect_member_refused(&options, PAWL_ERR_BAD_ARGUMENTS, "another number");
    lines_fini(&lines);
}

/* The call would not return, and nothing could end it. */
static void a_member_does_not_wait_for_its_election_port_for_ever(void **state)
{
    const char *properties[N_LINES + 3] = {"electionPortBindRetry=0"};
    struct pawl_server_options options;
    struct lines lines;
    char where[128];

    (void)state;
    lines_init(&lines);
    member_options(&lines, 1, where, sizeof(where), &options);
    memcpy(&properties[1], lines.properties, sizeof(lines.properties));
    options.properties = properties;
    options.n_properties = N_LINES + 3;
    assert_int_equal(listen(lines.fds[1], 1), 0); /* somebody else */
    expect_member_refused(&options, PAWL_ERR_BUSY, "the election port");
    lines_fini(&lines);
}

static void a_server_alone_has_the_role_of_one(void **state)
{
    struct pawl_server_options options;
    struct pawl_server *server;

    (void)state;
    pawl_server_options_init(&options);
    options.in_memory = 1;
    assert_int_equal(pawl_server_start(&options, &server, why, sizeof(why)), PAWL_OK);
    wait_until(pawl_server_role(server) == PAWL_ROLE_STANDALONE);
    assert_int_equal(pawl_server_stop(server), PAWL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_serve_when_they_are_started),
        cmocka_unit_test(it_survives_its_leaders_stopped),
        cmocka_unit_test(it_survives_its_leaders_killed),
        cmocka_unit_test(what_was_acknowledged_survives_the_death_of_all),
        cmocka_unit_test_setup_teardown(in_directories_it_is_found_again, make_folder,
                                        remove_folder),
        cmocka_unit_test(two_ensembles_do_not_meet),
        cmocka_unit_test(observers_serve_and_do_not_vote),
        cmocka_unit_test(a_port_stays_the_members_while_it_is_stopped),
        cmocka_unit_test(a_forked_child_keeps_nothing_of_it),
        cmocka_unit_test(options_that_make_no_ensemble_are_refused),
        cmocka_unit_test(members_that_are_none_are_refused),
        cmocka_unit_test(every_line_of_the_log_names_its_member),
        cmocka_unit_test(it_may_be_asked_while_members_come_and_go),
        cmocka_unit_test_setup_teardown(a_server_may_be_one_member_of_several, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_member_that_cannot_be_one_is_refused, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_member_does_not_wait_for_its_election_port_for_ever,
                                        make_folder, remove_folder),
        cmocka_unit_test(a_server_alone_has_the_role_of_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
