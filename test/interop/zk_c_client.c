/* SPDX-License-Identifier: Apache-2.0 */
/* zk_c_client.c - the official C client (libzookeeper_mt) put through its paces on a server.
 *
 *     zk_c_client HOST:PORT
 *
 * Each section is a user's story with every result asserted. Where the server has to be restarted
 * the program prints "restart" on stdout and reads a line from stdin: c_client.py does it
 * meanwhile. The first assertion that does not hold ends the program with 1 and says where. */
#define THREADED
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

enum { WAIT_SECONDS = 20, SESSION_MS = 10000, N_PIPELINED = 1000, N_EVENTS = 64 };

static const char *section = "start";
static const char *hosts;

#define CHECK(condition)                      \
    do {                                      \
        if (!(condition)) {                   \
            fail(__LINE__, #condition, 0, 0); \
        }                                     \
    } while (0)

#define CHECK_EQUAL(got, wanted)                                          \
    do {                                                                  \
        int64_t got_value = (int64_t)(got);                               \
        int64_t wanted_value = (int64_t)(wanted);                         \
        if (got_value != wanted_value) {                                  \
            fail(__LINE__, #got " == " #wanted, got_value, wanted_value); \
        }                                                                 \
    } while (0)

static void fail(int line, const char *what, int64_t got, int64_t wanted)
{
    fprintf(stderr, "zk_c_client: %s, line %d: %s (%lld, %lld)\n", section, line, what,
            (long long)got, (long long)wanted);
    exit(1);
}

/* ---- events: what the watchers of one handle were told, in order --------------------------- */

struct event {
    int type;
    int state;
    char path[128];
};

struct inbox {
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t more;
    struct event events[N_EVENTS];
    int n_events;
    int n_taken;
    int session_state;
};

static void inbox_init(struct inbox *in)
{
    memset(in, 0, sizeof *in);
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->more, NULL);
}

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *context)
{
    struct inbox *in = context;

    (void)zh;
    pthread_mutex_lock(&in->lock);
    if (type == ZOO_SESSION_EVENT) {
        in->session_state = state;
    } else {
        CHECK(in->n_events < N_EVENTS);
        in->events[in->n_events].type = type;
        in->events[in->n_events].state = state;
        snprintf(in->events[in->n_events].path, sizeof in->events[0].path, "%s", path);
        in->n_events++;
    }
    pthread_cond_broadcast(&in->more);
    pthread_mutex_unlock(&in->lock);
}

static struct timespec deadline(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += WAIT_SECONDS;
    return t;
}

static void wait_for_state(struct inbox *in, int state)
{
    struct timespec until = deadline();

    pthread_mutex_lock(&in->lock);
    while (in->session_state != state) {
        CHECK_EQUAL(pthread_cond_timedwait(&in->more, &in->lock, &until), 0);
    }
    pthread_mutex_unlock(&in->lock);
}

/* The next event must be this one, on this path. */
static void expect_event(struct inbox *in, int type, const char *path)
{
    struct timespec until = deadline();

    pthread_mutex_lock(&in->lock);
    while (in->n_taken == in->n_events) {
        CHECK_EQUAL(pthread_cond_timedwait(&in->more, &in->lock, &until), 0);
    }
    CHECK_EQUAL(in->events[in->n_taken].type, type);
    CHECK_EQUAL(in->events[in->n_taken].state, ZOO_CONNECTED_STATE);
    CHECK(strcmp(in->events[in->n_taken].path, path) == 0);
    in->n_taken++;
    pthread_mutex_unlock(&in->lock);
}

/* ---- replies of asynchronous calls ---------------------------------------------------------- */

struct reply {
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t more;
    int n_done;
    int rc;
    int last_index;
};

static struct reply reply = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void reply_reset(void)
{
    reply.n_done = 0;
    reply.last_index = -1;
}

static void reply_note(int rc)
{
    pthread_mutex_lock(&reply.lock);
    reply.rc = rc;
    reply.n_done++;
    pthread_cond_broadcast(&reply.more);
    pthread_mutex_unlock(&reply.lock);
}

static int reply_wait(int n)
{
    struct timespec until = deadline();

    pthread_mutex_lock(&reply.lock);
    while (reply.n_done < n) {
        CHECK_EQUAL(pthread_cond_timedwait(&reply.more, &reply.lock, &until), 0);
    }
    pthread_mutex_unlock(&reply.lock);
    return reply.rc;
}

static void on_void(int rc, const void *data)
{
    (void)data;
    reply_note(rc);
}

static void on_stat(int rc, const struct Stat *stat, const void *data)
{
    (void)stat;
    (void)data;
    reply_note(rc);
}

static void on_string(int rc, const char *value, const void *data)
{
    (void)data;
    CHECK(rc != ZOK || value != NULL);
    reply_note(rc);
}

static void on_created_in_order(int rc, const char *value, const void *data)
{
    int index = (int)(intptr_t)data;
    char wanted[64];

    CHECK_EQUAL(rc, ZOK);
    CHECK_EQUAL(index, reply.last_index + 1);
    reply.last_index = index;
    snprintf(wanted, sizeof wanted, "/p/n%010d", index);
    CHECK(strcmp(value, wanted) == 0);
    reply_note(rc);
}

/* No event may be waiting or under way. The server sends events and replies in one order and the
 * client hands both to its completion thread in that order (the replies of asynchronous calls, that
 * is), so an event older than this reply has been noted by the time it comes. */
static void expect_no_event(zhandle_t *zh, struct inbox *in)
{
    reply_reset();
    CHECK_EQUAL(zoo_aexists(zh, "/", 0, on_stat, NULL), ZOK);
    CHECK_EQUAL(reply_wait(1), ZOK);
    pthread_mutex_lock(&in->lock);
    CHECK_EQUAL(in->n_taken, in->n_events);
    pthread_mutex_unlock(&in->lock);
}

/* ---- small helpers -------------------------------------------------------------------------- */

static zhandle_t *connect_to(const char *where, struct inbox *in, const clientid_t *id)
{
    zhandle_t *zh;

    inbox_init(in);
    zh = zookeeper_init(where, on_event, SESSION_MS, id, in, 0);
    CHECK(zh != NULL);
    return zh;
}

static zhandle_t *connect_new(struct inbox *in)
{
    zhandle_t *zh = connect_to(hosts, in, NULL);

    wait_for_state(in, ZOO_CONNECTED_STATE);
    return zh;
}

static int create(zhandle_t *zh, const char *path, const char *data, int mode)
{
    return zoo_create(zh, path, data, data == NULL ? -1 : (int)strlen(data), &ZOO_OPEN_ACL_UNSAFE,
                      mode, NULL, 0);
}

static void expect_data(zhandle_t *zh, const char *path, const char *wanted)
{
    char data[256];
    int len = sizeof data;

    CHECK_EQUAL(zoo_get(zh, path, 0, data, &len, NULL), ZOK);
    if (wanted == NULL) {
        CHECK_EQUAL(len, -1);
        return;
    }
    CHECK_EQUAL(len, strlen(wanted));
    CHECK(memcmp(data, wanted, strlen(wanted)) == 0);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The children of `path` are exactly `wanted`, written with blanks between, sorted. */
static void expect_children(zhandle_t *zh, const char *path, const char *wanted)
{
    struct String_vector names;
    char text[512] = "";

    CHECK_EQUAL(zoo_get_children(zh, path, 0, &names), ZOK);
    if (names.count > 0) {
        qsort(names.data, (size_t)names.count, sizeof names.data[0], compare_names);
    }
    for (int i = 0; i < names.count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", i == 0 ? "" : " ", names.data[i]);
    }
    CHECK(strcmp(text, wanted) == 0);
    deallocate_String_vector(&names);
}

static void begin(const char *name)
{
    section = name;
    printf("zk_c_client: %s\n", name);
    fflush(stdout);
}

/* ---- the stories ---------------------------------------------------------------------------- */

static void data_and_versions(zhandle_t *zh)
{
    struct Stat stat;
    struct Stat later;

    begin("data and versions");
    CHECK_EQUAL(create(zh, "/c", "root", ZOO_PERSISTENT), ZOK);
    CHECK_EQUAL(create(zh, "/c", "root", ZOO_PERSISTENT), ZNODEEXISTS);
    CHECK_EQUAL(create(zh, "/c/none/deep", "", ZOO_PERSISTENT), ZNONODE);
    CHECK_EQUAL(create(zh, "/c/null", NULL, ZOO_PERSISTENT), ZOK);
    CHECK_EQUAL(create(zh, "/c/empty", "", ZOO_PERSISTENT), ZOK);
    expect_data(zh, "/c", "root");
    expect_data(zh, "/c/null", NULL);
    expect_data(zh, "/c/empty", "");

    CHECK_EQUAL(zoo_exists(zh, "/c", 0, &stat), ZOK);
    CHECK_EQUAL(stat.version, 0);
    CHECK_EQUAL(stat.cversion, 2);
    CHECK_EQUAL(stat.numChildren, 2);
    CHECK_EQUAL(stat.dataLength, 4);
    CHECK_EQUAL(stat.czxid, stat.mzxid);
    CHECK(stat.pzxid > stat.czxid);

    CHECK_EQUAL(zoo_set2(zh, "/c", "two", 3, 0, &later), ZOK);
    CHECK_EQUAL(later.version, 1);
    CHECK(later.mzxid > stat.pzxid);
    CHECK_EQUAL(later.czxid, stat.czxid);
    CHECK_EQUAL(zoo_set(zh, "/c", "no", 2, 0), ZBADVERSION);
    CHECK_EQUAL(zoo_set(zh, "/c", "yes", 3, -1), ZOK);
    CHECK_EQUAL(zoo_set(zh, "/c/none", "x", 1, -1), ZNONODE);
    expect_data(zh, "/c", "yes");

    CHECK_EQUAL(zoo_delete(zh, "/c", -1), ZNOTEMPTY);
    CHECK_EQUAL(zoo_delete(zh, "/c/null", 4), ZBADVERSION);
    CHECK_EQUAL(zoo_delete(zh, "/c/null", 0), ZOK);
    CHECK_EQUAL(zoo_delete(zh, "/c/null", 0), ZNONODE);
    CHECK_EQUAL(zoo_exists(zh, "/c/null", 0, &stat), ZNONODE);
}

static void modes_of_create(zhandle_t *zh)
{
    char path[64];
    struct Stat stat;

    begin("modes of create");
    CHECK_EQUAL(create(zh, "/modes", "", ZOO_PERSISTENT), ZOK);
    CHECK_EQUAL(zoo_create(zh, "/modes/s-", "a", 1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_SEQUENTIAL,
                           path, sizeof path),
                ZOK);
    CHECK(strcmp(path, "/modes/s-0000000000") == 0);
    CHECK_EQUAL(zoo_create2(zh, "/modes/e-", "bc", 2, &ZOO_OPEN_ACL_UNSAFE,
                            ZOO_EPHEMERAL_SEQUENTIAL, path, sizeof path, &stat),
                ZOK);
    CHECK(strcmp(path, "/modes/e-0000000001") == 0);
    CHECK_EQUAL(stat.ephemeralOwner, zoo_client_id(zh)->client_id);
    CHECK_EQUAL(stat.dataLength, 2);
    CHECK_EQUAL(stat.version, 0);
    CHECK_EQUAL(create(zh, "/modes/e-0000000001/child", "", ZOO_PERSISTENT),
                ZNOCHILDRENFOREPHEMERALS);

    CHECK_EQUAL(zoo_create2(zh, "/modes/box", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_CONTAINER, path,
                            sizeof path, &stat),
                ZOK);
    CHECK_EQUAL(stat.ephemeralOwner, 0); /* the mark of a container stays inside the server */
    CHECK_EQUAL(create(zh, "/modes/box/in", "", ZOO_PERSISTENT), ZOK);

    CHECK_EQUAL(zoo_create2_ttl(zh, "/modes/ttl", "", 0, &ZOO_OPEN_ACL_UNSAFE,
                                ZOO_PERSISTENT_WITH_TTL, 3600000, path, sizeof path, &stat),
                ZOK);
    CHECK_EQUAL(stat.ephemeralOwner, 0); /* so does a TTL */
    CHECK_EQUAL(zoo_create_ttl(zh, "/modes/ttl-", "", 0, &ZOO_OPEN_ACL_UNSAFE,
                               ZOO_PERSISTENT_SEQUENTIAL_WITH_TTL, 5000, path, sizeof path),
                ZOK);
    CHECK(strcmp(path, "/modes/ttl-0000000004") == 0);
    expect_children(zh, "/modes", "box e-0000000001 s-0000000000 ttl ttl-0000000004");
}

static void children_and_stat(zhandle_t *zh)
{
    struct String_vector names;
    struct Stat stat;

    begin("children");
    CHECK_EQUAL(create(zh, "/kids", "", ZOO_PERSISTENT), ZOK);
    expect_children(zh, "/kids", "");
    CHECK_EQUAL(create(zh, "/kids/b", "", ZOO_PERSISTENT), ZOK);
    CHECK_EQUAL(create(zh, "/kids/a", "", ZOO_PERSISTENT), ZOK);
    CHECK_EQUAL(zoo_delete(zh, "/kids/b", -1), ZOK);
    CHECK_EQUAL(zoo_get_children2(zh, "/kids", 0, &names, &stat), ZOK);
    CHECK_EQUAL(names.count, 1);
    CHECK(strcmp(names.data[0], "a") == 0);
    CHECK_EQUAL(stat.numChildren, 1);
    CHECK_EQUAL(stat.cversion, 3);
    deallocate_String_vector(&names);
    CHECK_EQUAL(zoo_get_children2(zh, "/kids/none", 0, &names, &stat), ZNONODE);
    CHECK_EQUAL(zoo_get_children(zh, "/kids/none", 0, &names), ZNONODE);
}

static void one_shot_watches(zhandle_t *zh)
{
    struct inbox in;
    struct Stat stat;
    struct String_vector names;
    char data[16];
    int len = sizeof data;

    begin("watches");
    inbox_init(&in);
    CHECK_EQUAL(zoo_wexists(zh, "/w", on_event, &in, &stat), ZNONODE);
    CHECK_EQUAL(create(zh, "/w", "1", ZOO_PERSISTENT), ZOK);
    expect_event(&in, ZOO_CREATED_EVENT, "/w");

    CHECK_EQUAL(zoo_wget(zh, "/w", on_event, &in, data, &len, &stat), ZOK);
    CHECK_EQUAL(zoo_set(zh, "/w", "2", 1, -1), ZOK);
    expect_event(&in, ZOO_CHANGED_EVENT, "/w");
    CHECK_EQUAL(zoo_set(zh, "/w", "3", 1, -1), ZOK);
    expect_no_event(zh, &in);

    CHECK_EQUAL(zoo_wget_children(zh, "/w", on_event, &in, &names), ZOK);
    deallocate_String_vector(&names);
    CHECK_EQUAL(zoo_set(zh, "/w", "4", 1, -1), ZOK);
    expect_no_event(zh, &in);
    CHECK_EQUAL(create(zh, "/w/kid", "", ZOO_PERSISTENT), ZOK);
    expect_event(&in, ZOO_CHILD_EVENT, "/w");
    CHECK_EQUAL(zoo_wget_children2(zh, "/w", on_event, &in, &names, &stat), ZOK);
    deallocate_String_vector(&names);
    CHECK_EQUAL(zoo_delete(zh, "/w/kid", -1), ZOK);
    expect_event(&in, ZOO_CHILD_EVENT, "/w");

    CHECK_EQUAL(zoo_wexists(zh, "/w", on_event, &in, &stat), ZOK);
    CHECK_EQUAL(zoo_delete(zh, "/w", -1), ZOK);
    expect_event(&in, ZOO_DELETED_EVENT, "/w");
    expect_no_event(zh, &in);
}

static void removal_of_watches(zhandle_t *zh)
{
    struct inbox in;
    struct Stat stat;
    struct String_vector names;

    begin("removal of watches");
    inbox_init(&in);
    CHECK_EQUAL(create(zh, "/rw", "", ZOO_PERSISTENT), ZOK);
    CHECK_EQUAL(zoo_remove_watches(zh, "/rw", ZWATCHTYPE_ANY, on_event, &in, 0), ZNOWATCHER);

    CHECK_EQUAL(zoo_wexists(zh, "/rw", on_event, &in, &stat), ZOK);
    CHECK_EQUAL(zoo_wget_children(zh, "/rw", on_event, &in, &names), ZOK);
    deallocate_String_vector(&names);
    CHECK_EQUAL(zoo_remove_watches(zh, "/rw", ZWATCHTYPE_DATA, on_event, &in, 0), ZOK);
    CHECK_EQUAL(zoo_set(zh, "/rw", "x", 1, -1), ZOK);
    expect_no_event(zh, &in);
    CHECK_EQUAL(create(zh, "/rw/kid", "", ZOO_PERSISTENT), ZOK);
    expect_event(&in, ZOO_CHILD_EVENT, "/rw");

    CHECK_EQUAL(zoo_wexists(zh, "/rw", on_event, &in, &stat), ZOK);
    CHECK_EQUAL(zoo_wget_children(zh, "/rw", on_event, &in, &names), ZOK);
    deallocate_String_vector(&names);
    CHECK_EQUAL(zoo_remove_all_watches(zh, "/rw", ZWATCHTYPE_ANY, 0), ZOK);
    CHECK_EQUAL(zoo_delete(zh, "/rw/kid", -1), ZOK);
    CHECK_EQUAL(zoo_delete(zh, "/rw", -1), ZOK);
    expect_no_event(zh, &in);
}

static void multi_all_or_nothing(zhandle_t *zh)
{
    zoo_op_t ops[4];
    zoo_op_result_t results[4];
    struct Stat stat;
    char path[64];

    begin("multi");
    zoo_create_op_init(&ops[0], "/m", "1", 1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
    zoo_create_op_init(&ops[1], "/m/s-", "2", 1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_SEQUENTIAL,
                       path, sizeof path);
    zoo_set_op_init(&ops[2], "/m", "3", 1, 0, &stat);
    zoo_check_op_init(&ops[3], "/m", 1);
    CHECK_EQUAL(zoo_multi(zh, 4, ops, results), ZOK);
    CHECK(strcmp(path, "/m/s-0000000000") == 0);
    CHECK_EQUAL(stat.version, 1);
    CHECK_EQUAL(stat.numChildren, 1);
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(results[i].err, ZOK);
    }
    expect_data(zh, "/m", "3");

    zoo_delete_op_init(&ops[0], "/m/s-0000000000", 0);
    zoo_set_op_init(&ops[1], "/m", "4", 1, 7, &stat);
    zoo_check_op_init(&ops[2], "/none", -1);
    CHECK_EQUAL(zoo_multi(zh, 3, ops, results), ZBADVERSION);
    CHECK_EQUAL(results[0].err, ZOK);
    CHECK_EQUAL(results[1].err, ZBADVERSION);
    CHECK_EQUAL(results[2].err, ZRUNTIMEINCONSISTENCY);
    expect_children(zh, "/m", "s-0000000000");
    expect_data(zh, "/m", "3");
}

static int add_auth(zhandle_t *zh, const char *scheme, const char *credential)
{
    reply_reset();
    CHECK_EQUAL(zoo_add_auth(zh, scheme, credential, (int)strlen(credential), on_void, NULL), ZOK);
    return reply_wait(1);
}

static void acls_and_digest(zhandle_t *zh)
{
    struct ACL entries[2] = {{ZOO_PERM_READ, {"world", "anyone"}},
                             {ZOO_PERM_ALL, {"digest", "bob:0ezhUayTjEymfNB3K9C0+wkMLMo="}}};
    struct ACL_vector acl = {2, entries};
    struct ACL bad = {ZOO_PERM_ALL, {"no-such-scheme", "x"}};
    struct ACL_vector bad_acl = {1, &bad};
    struct ACL_vector got;
    struct Stat stat;
    struct inbox in;
    zhandle_t *bob = connect_new(&in);
    char data[16];
    int len = sizeof data;

    begin("ACLs and digest authentication");
    CHECK_EQUAL(zoo_create(zh, "/sec", "s", 1, &bad_acl, ZOO_PERSISTENT, NULL, 0), ZINVALIDACL);
    CHECK_EQUAL(zoo_create(zh, "/sec", "s", 1, &ZOO_CREATOR_ALL_ACL, ZOO_PERSISTENT, NULL, 0),
                ZINVALIDACL);
    CHECK_EQUAL(zoo_create(zh, "/sec", "s", 1, &acl, ZOO_PERSISTENT, NULL, 0), ZOK);
    CHECK_EQUAL(zoo_set(zh, "/sec", "x", 1, -1), ZNOAUTH);
    CHECK_EQUAL(create(zh, "/sec/kid", "", ZOO_PERSISTENT), ZNOAUTH);
    CHECK_EQUAL(zoo_set_acl(zh, "/sec", -1, &ZOO_OPEN_ACL_UNSAFE), ZNOAUTH);
    CHECK_EQUAL(zoo_get(zh, "/sec", 0, data, &len, NULL), ZOK);

    CHECK_EQUAL(add_auth(bob, "digest", "bob:bobpw"), ZOK);
    CHECK_EQUAL(zoo_set(bob, "/sec", "x", 1, -1), ZOK);
    CHECK_EQUAL(zoo_get_acl(bob, "/sec", &got, &stat), ZOK);
    CHECK_EQUAL(got.count, 2);
    CHECK_EQUAL(got.data[1].perms, ZOO_PERM_ALL);
    CHECK(strcmp(got.data[1].id.id, entries[1].id.id) == 0);
    deallocate_ACL_vector(&got);
    CHECK_EQUAL(zoo_set_acl(bob, "/sec", 5, &ZOO_OPEN_ACL_UNSAFE), ZBADVERSION);
    CHECK_EQUAL(zoo_set_acl(bob, "/sec", 0, &ZOO_CREATOR_ALL_ACL), ZOK);
    CHECK_EQUAL(zoo_get_acl(bob, "/sec", &got, &stat), ZOK);
    CHECK_EQUAL(got.count, 1);
    CHECK(strcmp(got.data[0].id.scheme, "digest") == 0);
    CHECK(strcmp(got.data[0].id.id, entries[1].id.id) == 0);
    CHECK_EQUAL(stat.aversion, 1);
    deallocate_ACL_vector(&got);
    CHECK_EQUAL(zoo_get(zh, "/sec", 0, data, &len, NULL), ZNOAUTH);
    CHECK_EQUAL(zookeeper_close(bob), ZOK);
}

static void failed_authentication(void)
{
    struct inbox in;
    zhandle_t *zh = connect_new(&in);

    begin("failed authentication");
    CHECK_EQUAL(add_auth(zh, "no-such-scheme", "x"), ZAUTHFAILED);
    wait_for_state(&in, ZOO_AUTH_FAILED_STATE);
    CHECK_EQUAL(zookeeper_close(zh), ZOK);
}

static void sync_and_config(zhandle_t *zh)
{
    char data[1024];
    int len = sizeof data;
    struct Stat stat;

    begin("sync, config, reconfig");
    reply_reset();
    CHECK_EQUAL(zoo_async(zh, "/", on_string, NULL), ZOK);
    CHECK_EQUAL(reply_wait(1), ZOK);
    CHECK_EQUAL(zoo_getconfig(zh, 0, data, &len, &stat), ZOK);
    len = sizeof data;
    CHECK_EQUAL(
        zoo_reconfig(zh, NULL, NULL, "server.1=127.0.0.1:2:3:participant;4", -1, data, &len, &stat),
        ZRECONFIGDISABLED);
}

static void pipelined_creates(zhandle_t *zh)
{
    struct Stat stat;

    begin("a thousand requests under way");
    CHECK_EQUAL(create(zh, "/p", "", ZOO_PERSISTENT), ZOK);
    reply_reset();
    for (int i = 0; i < N_PIPELINED; i++) {
        CHECK_EQUAL(zoo_acreate(zh, "/p/n", "x", 1, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_SEQUENTIAL,
                                on_created_in_order, (void *)(intptr_t)i),
                    ZOK);
    }
    reply_wait(N_PIPELINED);
    CHECK_EQUAL(zoo_exists(zh, "/p", 0, &stat), ZOK);
    CHECK_EQUAL(stat.numChildren, N_PIPELINED);
}

static void chroot_in_the_address(zhandle_t *zh)
{
    struct inbox in;
    zhandle_t *inner;
    char where[256];
    char path[64];
    struct Stat stat;

    begin("chroot");
    CHECK_EQUAL(create(zh, "/jail", "", ZOO_PERSISTENT), ZOK);
    snprintf(where, sizeof where, "%s/jail", hosts);
    inner = connect_to(where, &in, NULL);
    wait_for_state(&in, ZOO_CONNECTED_STATE);
    CHECK_EQUAL(zoo_exists(inner, "/x", 1, &stat), ZNONODE);
    CHECK_EQUAL(
        zoo_create(inner, "/x", "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, path, sizeof path),
        ZOK);
    CHECK(strcmp(path, "/x") == 0);
    expect_event(&in, ZOO_CREATED_EVENT, "/x");
    expect_children(zh, "/jail", "x");
    CHECK_EQUAL(zookeeper_close(inner), ZOK);
}

static void closing_removes_ephemerals(zhandle_t *zh)
{
    struct inbox watched;
    struct inbox in;
    zhandle_t *other = connect_new(&in);
    struct Stat stat;

    begin("closing a session");
    inbox_init(&watched);
    CHECK_EQUAL(create(other, "/eph", "", ZOO_EPHEMERAL), ZOK);
    CHECK_EQUAL(zoo_wexists(zh, "/eph", on_event, &watched, &stat), ZOK);
    CHECK_EQUAL(stat.ephemeralOwner, zoo_client_id(other)->client_id);
    CHECK_EQUAL(zookeeper_close(other), ZOK);
    expect_event(&watched, ZOO_DELETED_EVENT, "/eph");
    CHECK_EQUAL(zoo_exists(zh, "/eph", 0, &stat), ZNONODE);
}

/* A process of its own makes a session and an ephemeral node, hands over the id and is killed. Were
 * it a second handle in this process, both would take the session from each other without end. */
static clientid_t session_of_a_dead_process(void)
{
    struct inbox in;
    clientid_t id;
    int ends[2];
    pid_t child;

    CHECK_EQUAL(pipe(ends), 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        zhandle_t *zh = connect_new(&in);
        CHECK_EQUAL(create(zh, "/mine", "", ZOO_EPHEMERAL), ZOK);
        CHECK_EQUAL(write(ends[1], zoo_client_id(zh), sizeof id), sizeof id);
        pause();
    }
    CHECK_EQUAL(read(ends[0], &id, sizeof id), sizeof id);
    CHECK_EQUAL(kill(child, SIGKILL), 0);
    CHECK_EQUAL(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    return id;
}

static void taking_a_session_over(void)
{
    struct inbox in;
    struct inbox thief_in;
    clientid_t id;
    clientid_t forged;
    zhandle_t *zh;
    zhandle_t *thief;
    struct Stat stat;

    begin("a session taken over from a dead process");
    id = session_of_a_dead_process();
    forged = id;
    forged.passwd[0] = (char)~forged.passwd[0];
    thief = connect_to(hosts, &thief_in, &forged);
    wait_for_state(&thief_in, ZOO_EXPIRED_SESSION_STATE);
    CHECK_EQUAL(zookeeper_close(thief), ZOK);

    zh = connect_to(hosts, &in, &id);
    wait_for_state(&in, ZOO_CONNECTED_STATE);
    CHECK_EQUAL(zoo_client_id(zh)->client_id, id.client_id);
    CHECK_EQUAL(zoo_exists(zh, "/mine", 0, &stat), ZOK);
    CHECK_EQUAL(stat.ephemeralOwner, id.client_id);
    CHECK_EQUAL(zookeeper_close(zh), ZOK);

    zh = connect_to(hosts, &in, &id);
    wait_for_state(&in, ZOO_EXPIRED_SESSION_STATE);
    CHECK_EQUAL(zookeeper_close(zh), ZOK);
    zh = connect_new(&in);
    CHECK_EQUAL(zoo_exists(zh, "/mine", 0, &stat), ZNONODE);
    CHECK_EQUAL(zookeeper_close(zh), ZOK);
}

static void ask_for_restart(void)
{
    char line[32];

    printf("restart\n");
    fflush(stdout);
    CHECK(fgets(line, sizeof line, stdin) != NULL);
}

static void session_outlives_a_restart(zhandle_t *zh, struct inbox *in)
{
    struct inbox watched;
    int64_t id = zoo_client_id(zh)->client_id;
    struct Stat stat;
    char data[16];
    int len = sizeof data;
    int rc;

    begin("a restart of the server");
    inbox_init(&watched);
    CHECK_EQUAL(create(zh, "/r", "before", ZOO_EPHEMERAL), ZOK);
    CHECK_EQUAL(zoo_wget(zh, "/r", on_event, &watched, data, &len, &stat), ZOK);
    pthread_mutex_lock(&in->lock);
    in->session_state = 0;
    pthread_mutex_unlock(&in->lock);
    ask_for_restart();
    wait_for_state(in, ZOO_CONNECTED_STATE);

    /* The connection may break once more while the server comes up: then ask again. */
    do {
        rc = zoo_exists(zh, "/r", 0, &stat);
    } while (rc == ZCONNECTIONLOSS);
    CHECK_EQUAL(rc, ZOK);
    CHECK_EQUAL(zoo_client_id(zh)->client_id, id);
    CHECK_EQUAL(stat.ephemeralOwner, id);
    expect_data(zh, "/r", "before");
    CHECK_EQUAL(zoo_set(zh, "/r", "after", 5, 0), ZOK);
    expect_event(&watched, ZOO_CHANGED_EVENT, "/r");
    expect_data(zh, "/m", "3");
    expect_children(zh, "/kids", "a");
}

int main(int argc, char **argv)
{
    struct inbox in;
    zhandle_t *zh;

    if (argc != 2) {
        fprintf(stderr, "usage: zk_c_client HOST:PORT\n");
        return 2;
    }
    hosts = argv[1];
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    taking_a_session_over(); /* first: it forks, and there are no threads yet */

    zh = connect_new(&in);
    CHECK(zoo_recv_timeout(zh) == SESSION_MS);

    data_and_versions(zh);
    modes_of_create(zh);
    children_and_stat(zh);
    one_shot_watches(zh);
    removal_of_watches(zh);
    multi_all_or_nothing(zh);
    acls_and_digest(zh);
    failed_authentication();
    sync_and_config(zh);
    pipelined_creates(zh);
    chroot_in_the_address(zh);
    closing_removes_ephemerals(zh);
    session_outlives_a_restart(zh, &in);

    CHECK_EQUAL(zookeeper_close(zh), ZOK);
    printf("zk_c_client: all held\n");
    return 0;
}
