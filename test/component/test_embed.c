/* SPDX-License-Identifier: Apache-2.0 */
/* <pawl/server.h> as its users see it: through the header, and through a socket. */
#define _POSIX_C_SOURCE 200809L
#include <pawl/server.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "lib/test.h"

#include "lib/patience.h"

enum { CREATE = 1, GET_DATA = 4, HEADER_BYTES = 16 };

static char why[512];

/* ---- a client: frames are big-endian integers and length-prefixed strings ---- */

struct frame {
    uint8_t bytes[1024];
    size_t len;
};

static void put_int(struct frame *f, int32_t x)
{
    uint32_t big_endian = htonl((uint32_t)x);

    memcpy(f->bytes + f->len, &big_endian, 4);
    f->len += 4;
}

static void put_zeroes(struct frame *f, size_t n)
{
    memset(f->bytes + f->len, 0, n);
    f->len += n;
}

static void put_string(struct frame *f, const char *s)
{
    put_int(f, (int32_t)strlen(s));
    memcpy(f->bytes + f->len, s, strlen(s));
    f->len += strlen(s);
}

static int32_t int_at(const struct frame *f, size_t at)
{
    uint32_t big_endian;

    assert_true(at + 4 <= f->len);
    memcpy(&big_endian, f->bytes + at, 4);
    return (int32_t)ntohl(big_endian);
}

static void exchange(int fd, struct frame *f)
{
    uint32_t length = htonl((uint32_t)f->len);

    assert_int_equal(send(fd, &length, 4, MSG_NOSIGNAL), 4);
    assert_int_equal(send(fd, f->bytes, f->len, MSG_NOSIGNAL), f->len);
    assert_int_equal(recv(fd, &length, 4, MSG_WAITALL), 4);
    f->len = ntohl(length);
    assert_true(f->len <= sizeof(f->bytes));
    assert_int_equal(recv(fd, f->bytes, f->len, MSG_WAITALL), f->len);
}

static void put_connect_request(struct frame *f)
{
    put_zeroes(f, 12);
    put_int(f, 10000);
    put_zeroes(f, 8);
    put_int(f, 16);
    put_zeroes(f, 17);
}

static int with_session(int fd)
{
    struct frame f = {.len = 0};

    put_connect_request(&f);
    exchange(fd, &f);
    return fd;
}

static int connect_to(int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    return fd;
}

static int connect_unix(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    return fd;
}

static int32_t create(int fd, const char *path, const char *data)
{
    struct frame f = {.len = 0};

    put_int(&f, 1);
    put_int(&f, CREATE);
    put_string(&f, path);
    put_string(&f, data);
    put_int(&f, 1);
    put_int(&f, 31);
    put_string(&f, "world");
    put_string(&f, "anyone");
    put_int(&f, 0);
    exchange(fd, &f);
    return int_at(&f, 12);
}

/* The error, or OK and the data as a string in static memory. */
static int32_t get(int fd, const char *path, const char **data)
{
    static char copy[512];
    struct frame f = {.len = 0};

    put_int(&f, 2);
    put_int(&f, GET_DATA);
    put_string(&f, path);
    put_zeroes(&f, 1);
    exchange(fd, &f);
    if (int_at(&f, 12) == PAWL_OK) {
        snprintf(copy, sizeof(copy), "%.*s", int_at(&f, HEADER_BYTES),
                 (const char *)f.bytes + HEADER_BYTES + 4);
        *data = copy;
    }
    return int_at(&f, 12);
}

static void expect_data(int fd, const char *path, const char *expected)
{
    const char *data = NULL;

    assert_int_equal(get(fd, path, &data), PAWL_OK);
    assert_string_equal(data, expected);
}

/* ---- servers ---- */

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/pawl-embed.XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static struct pawl_server *start(const struct pawl_server_options *options)
{
    struct pawl_server *server;
    int rc = pawl_server_start(options, &server, why, sizeof(why));

    if (rc != PAWL_OK) {
        fail_msg("%s: %s", pawl_error_name(rc), why);
    }
    return server;
}

static struct pawl_server *start_in_memory(void)
{
    struct pawl_server_options options;

    pawl_server_options_init(&options);
    options.in_memory = 1;
    return start(&options);
}

static struct pawl_server *start_on_folder(void)
{
    struct pawl_server_options options;

    pawl_server_options_init(&options);
    options.folder = folder;
    return start(&options);
}

static int refused(const struct pawl_server_options *options, const char *expected)
{
    struct pawl_server *server = NULL;
    int rc;

    why[0] = '\0';
    rc = pawl_server_start(options, &server, why, sizeof(why));
    assert_null(server);
    if (strstr(why, expected) == NULL) {
        fail_msg("\"%s\" is not in: %s", expected, why);
    }
    return rc;
}

static void a_server_in_memory_serves_its_port(void **state)
{
    struct pawl_server *server = start_in_memory();
    char address[64];
    int fd = with_session(connect_to(pawl_server_port(server)));

    (void)state;
    snprintf(address, sizeof(address), "127.0.0.1:%d", pawl_server_port(server));
    assert_string_equal(pawl_server_address(server), address);
    assert_null(pawl_server_unix_socket(server));
    assert_int_equal(create(fd, "/a", "one"), PAWL_OK);
    expect_data(fd, "/a", "one");
    assert_int_equal(pawl_server_error(server, why, sizeof(why)), PAWL_OK);
    assert_string_equal(why, "");
    close(fd);
    assert_int_equal(pawl_server_stop(server), PAWL_OK);
}

static void several_servers_do_not_share_their_nodes(void **state)
{
    enum { N = 5 };
    struct pawl_server *server[N];
    const char *data;
    int fd[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        server[i] = start_in_memory();
        fd[i] = with_session(connect_to(pawl_server_port(server[i])));
    }
    for (int i = 0; i < N; i++) {
        char path[16];

        snprintf(path, sizeof(path), "/n%d", i);
        assert_int_equal(create(fd[i], path, path), PAWL_OK);
        expect_data(fd[i], path, path);
        assert_int_equal(get(fd[(i + 1) % N], path, &data), PAWL_ERR_NO_NODE);
    }
    for (int i = 0; i < N; i++) {
        close(fd[i]);
        assert_int_equal(pawl_server_stop(server[i]), PAWL_OK);
    }
}

static void *start_talk_stop(void *arg)
{
    struct pawl_server_options options;
    struct pawl_server *server;
    int fd;

    pawl_server_options_init(&options);
    options.in_memory = 1;
    for (int i = 0; i < 10; i++) {
        if (pawl_server_start(&options, &server, NULL, 0) != PAWL_OK) {
            return NULL;
        }
        fd = with_session(connect_to(pawl_server_port(server)));
        if (create(fd, "/a", "b") != PAWL_OK) {
            return NULL;
        }
        close(fd);
        if (pawl_server_stop(server) != PAWL_OK) {
            return NULL;
        }
    }
    return arg;
}

static void servers_start_and_stop_in_several_threads_at_once(void **state)
{
    enum { N = 4 };
    pthread_t thread[N];
    void *result;

    (void)state;
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, start_talk_stop, thread), 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(thread[i], &result);
        assert_ptr_equal(result, thread);
    }
}

static void a_folder_keeps_its_nodes(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct pawl_server *server = start_on_folder();
        int fd = with_session(connect_to(pawl_server_port(server)));
        char path[16];

        for (int i = 0; i < round; i++) {
            snprintf(path, sizeof(path), "/r%d", i);
            expect_data(fd, path, path);
        }
        snprintf(path, sizeof(path), "/r%d", round);
        assert_int_equal(create(fd, path, path), PAWL_OK);
        close(fd);
        assert_int_equal(pawl_server_stop(server), PAWL_OK);
    }
}

static void a_unix_socket_serves_without_a_port(void **state)
{
    struct pawl_server_options options;
    struct pawl_server *server;
    char path[80];
    int fd;

    (void)state;
    snprintf(path, sizeof(path), "%s/client.sock", folder);
    pawl_server_options_init(&options);
    options.in_memory = 1;
    options.port = -1;
    options.unix_socket = path;
    server = start(&options);
    assert_int_equal(pawl_server_port(server), -1);
    assert_null(pawl_server_address(server));
    assert_string_equal(pawl_server_unix_socket(server), path);
    fd = with_session(connect_unix(path));
    assert_int_equal(create(fd, "/a", "b"), PAWL_OK);
    close(fd);
    assert_int_equal(refused(&options, path), PAWL_ERR_BUSY);
    assert_int_equal(pawl_server_stop(server), PAWL_OK);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void one_folder_has_one_server(void **state)
{
    struct pawl_server *server = start_on_folder();
    struct pawl_server_options options;
    int fd;

    (void)state;
    pawl_server_options_init(&options);
    options.folder = folder;
    assert_int_equal(refused(&options, "is in use by another server"), PAWL_ERR_BUSY);
    assert_non_null(strstr(why, folder));
    fd = with_session(connect_to(pawl_server_port(server)));
    assert_int_equal(create(fd, "/still", "here"), PAWL_OK);
    close(fd);
    assert_int_equal(pawl_server_stop(server), PAWL_OK);
    pawl_server_stop(start_on_folder());
}

static void a_port_in_use_is_busy(void **state)
{
    struct pawl_server *server = start_in_memory();
    struct pawl_server_options options;

    (void)state;
    pawl_server_options_init(&options);
    options.in_memory = 1;
    options.port = pawl_server_port(server);
    assert_int_equal(refused(&options, "in use"), PAWL_ERR_BUSY);
    pawl_server_stop(server);
}

static void a_folder_that_is_a_file_is_refused(void **state)
{
    struct pawl_server_options options;
    char path[80];
    FILE *file;

    (void)state;
    snprintf(path, sizeof(path), "%s/file", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    pawl_server_options_init(&options);
    options.folder = path;
    assert_int_not_equal(refused(&options, path), PAWL_OK);
}

static void options_that_contradict_each_other_are_refused(void **state)
{
    struct pawl_server_options options;

    (void)state;
    pawl_server_options_init(&options);
    assert_int_equal(refused(&options, "give a folder"), PAWL_ERR_BAD_ARGUMENTS);
    options.in_memory = 1;
    options.folder = folder;
    assert_int_equal(refused(&options, "which one"), PAWL_ERR_BAD_ARGUMENTS);
    options.folder = NULL;
    options.port = -1;
    assert_int_equal(refused(&options, "no client could connect"), PAWL_ERR_BAD_ARGUMENTS);
    options.port = 70000;
    assert_int_equal(refused(&options, "clientPort"), PAWL_ERR_CONFIG);
    memset(&options, 0, sizeof(options));
    assert_int_equal(refused(&options, "pawl_server_options_init"), PAWL_ERR_BAD_ARGUMENTS);
}

static void all_bad_properties_are_named_at_once(void **state)
{
    const char *properties[] = {"tickTime=soon", "maxClientCnxns=many"};
    struct pawl_server_options options;

    (void)state;
    pawl_server_options_init(&options);
    options.in_memory = 1;
    options.properties = properties;
    options.n_properties = 2;
    assert_int_equal(refused(&options, "tickTime"), PAWL_ERR_CONFIG);
    assert_non_null(strstr(why, "maxClientCnxns"));
    assert_int_equal(pawl_server_start(&options, &(struct pawl_server *){0}, why, 10),
                     PAWL_ERR_CONFIG);
    assert_true(strlen(why) == 9);
}

static void a_property_takes_effect(void **state)
{
    const char *properties[] = {"minSessionTimeout=1234", "maxSessionTimeout=1234"};
    struct pawl_server_options options;
    struct pawl_server *server;
    struct frame f = {.len = 0};
    int fd;

    (void)state;
    pawl_server_options_init(&options);
    options.in_memory = 1;
    options.properties = properties;
    options.n_properties = 2;
    server = start(&options);
    fd = connect_to(pawl_server_port(server));
    put_connect_request(&f);
    exchange(fd, &f);
    assert_int_equal(int_at(&f, 4), 1234);
    close(fd);
    pawl_server_stop(server);
}

/* ---- the log ---- */

struct said {
    pthread_mutex_t lock;
    char text[4096];
    struct pawl_server *stop; /* try to stop this one from within */
    int stop_rc;
};

static void say(enum pawl_log_level level, const char *line, void *arg)
{
    struct said *said = arg;

    (void)level;
    pthread_mutex_lock(&said->lock);
    strncat(said->text, line, sizeof(said->text) - strlen(said->text) - 2);
    strcat(said->text, "\n");
    pthread_mutex_unlock(&said->lock);
}

static void each_server_has_a_log_of_its_own(void **state)
{
    struct said said[2] = {{.lock = PTHREAD_MUTEX_INITIALIZER},
                           {.lock = PTHREAD_MUTEX_INITIALIZER}};
    const char *typo[] = {"tickTIme=2000"};
    struct pawl_server_options options;
    struct pawl_server *server[3];
    char port[2][16];

    (void)state;
    pawl_server_options_init(&options);
    options.in_memory = 1;
    options.log = say;
    for (int i = 0; i < 2; i++) {
        options.log_arg = &said[i];
        server[i] = start(&options);
        snprintf(port[i], sizeof(port[i]), ":%d", pawl_server_port(server[i]));
        options.properties = typo;
        options.n_properties = 1;
    }
    options.log = NULL;
    server[2] = start(&options);
    for (int i = 0; i < 3; i++) {
        pawl_server_stop(server[i]);
    }
    assert_non_null(strstr(said[0].text, port[0]));
    assert_null(strstr(said[0].text, port[1]));
    assert_null(strstr(said[0].text, "tickTIme"));
    assert_non_null(strstr(said[1].text, port[1]));
    assert_non_null(strstr(said[1].text, "nearest known one is tickTime"));
}

static struct pawl_server *start_snapshotting(pawl_log_fn log, struct said *said)
{
    const char *properties[] = {"snapCount=2"};
    struct pawl_server_options options;

    pawl_server_options_init(&options);
    options.folder = folder;
    options.log = log;
    options.log_arg = said;
    options.properties = properties;
    options.n_properties = 1;
    return start(&options);
}

/* Creates nodes until the snapshot thread has had something to say. */
static void provoke_a_snapshot(struct pawl_server *server, struct said *said)
{
    int fd = with_session(connect_to(pawl_server_port(server)));
    int64_t end = now_ms() + SOON_MS;
    bool seen = false;

    for (int i = 0; !seen; i++) {
        char path[16];

        snprintf(path, sizeof(path), "/n%d", i);
        assert_int_equal(create(fd, path, ""), PAWL_OK);
        pthread_mutex_lock(&said->lock);
        seen = strstr(said->text, "Snapshot taken") != NULL;
        pthread_mutex_unlock(&said->lock);
        assert_true(now_ms() < end);
    }
    close(fd);
}

static void the_servers_other_threads_log_to_it_too(void **state)
{
    struct said said = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct pawl_server *server = start_snapshotting(say, &said);

    (void)state;
    provoke_a_snapshot(server, &said);
    assert_int_equal(pawl_server_stop(server), PAWL_OK);
}

static void stop_from_within(enum pawl_log_level level, const char *line, void *arg)
{
    struct said *said = arg;

    say(level, line, arg);
    pthread_mutex_lock(&said->lock);
    if (said->stop != NULL) {
        said->stop_rc = pawl_server_stop(said->stop);
    }
    pthread_mutex_unlock(&said->lock);
}

static void a_server_cannot_stop_itself(void **state)
{
    struct said said = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct pawl_server *server = start_snapshotting(stop_from_within, &said);

    (void)state;
    pthread_mutex_lock(&said.lock);
    said.stop = server;
    pthread_mutex_unlock(&said.lock);
    provoke_a_snapshot(server, &said);
    pthread_mutex_lock(&said.lock);
    said.stop = NULL;
    pthread_mutex_unlock(&said.lock);
    assert_int_equal(pawl_server_stop(server), PAWL_OK);
    assert_int_equal(said.stop_rc, PAWL_ERR_INVALID_STATE);
}

/* ---- the process around it ---- */

static _Atomic int n_signals;
static pthread_t signalled;

static void on_signal(int number)
{
    (void)number;
    signalled = pthread_self();
    atomic_fetch_add(&n_signals, 1);
}

static void signals_stay_with_the_program(void **state)
{
    struct sigaction before, after, ours = {.sa_handler = on_signal};
    struct pawl_server *server;
    sigset_t mask;

    (void)state;
    sigaction(SIGPIPE, NULL, &before);
    sigaction(SIGUSR1, &ours, NULL);
    server = start_on_folder();
    sigaction(SIGPIPE, NULL, &after);
    assert_ptr_equal(before.sa_handler, after.sa_handler);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGUSR1), 0);
    for (int i = 0; i < 100; i++) {
        kill(getpid(), SIGUSR1);
        assert_int_equal(atomic_load(&n_signals), i + 1); /* delivered before kill() returns */
        assert_true(pthread_equal(signalled, pthread_self()));
    }
    pawl_server_stop(server);
}

static void stopping_tells_the_clients(void **state)
{
    enum { N = 50 };
    struct pawl_server *server = start_on_folder();
    int fd[N];
    char byte;

    (void)state;
    for (int i = 0; i < N; i++) {
        fd[i] = with_session(connect_to(pawl_server_port(server)));
    }
    assert_int_equal(pawl_server_stop(server), PAWL_OK);
    for (int i = 0; i < N; i++) {
        assert_int_equal(recv(fd[i], &byte, 1, 0), 0);
        close(fd[i]);
    }
}

/* ---- failing while it runs ---- */

struct failure {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int code;
    char text[512];
};

static void note_failure(int code, const char *text, void *arg)
{
    struct failure *f = arg;

    pthread_mutex_lock(&f->lock);
    f->code = code;
    snprintf(f->text, sizeof(f->text), "%s", text);
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* The log rolls, and the folder it would go to is gone. */
static void a_server_whose_disk_fails_says_so(void **state)
{
    struct failure failure = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
    struct pawl_server_options options;
    struct pawl_server *server;
    char command[200], byte;
    struct frame f = {.len = 0};
    uint32_t length;
    int fd;

    (void)state;
    pawl_server_options_init(&options);
    options.folder = folder;
    options.failed = note_failure;
    options.failed_arg = &failure;
    server = start(&options);
    fd = connect_to(pawl_server_port(server));
    snprintf(command, sizeof(command), "rm -rf %s/version-2", folder);
    assert_int_equal(system(command), 0);
    put_connect_request(&f); /* a session is the first transaction, and needs a log file */
    length = htonl((uint32_t)f.len);
    assert_int_equal(send(fd, &length, 4, MSG_NOSIGNAL), 4);
    assert_int_equal(send(fd, f.bytes, f.len, MSG_NOSIGNAL), f.len);
    pthread_mutex_lock(&failure.lock);
    while (failure.code == PAWL_OK) {
        pthread_cond_wait(&failure.changed, &failure.lock);
    }
    pthread_mutex_unlock(&failure.lock);
    assert_true(recv(fd, &byte, 1, 0) <= 0); /* no answer: it is not on disk */
    close(fd);
    assert_int_equal(pawl_server_error(server, why, sizeof(why)), failure.code);
    assert_string_equal(why, failure.text);
    assert_non_null(strstr(why, folder));
    assert_int_equal(pawl_server_stop(server), failure.code);
}

static void stopping_nothing_is_allowed(void **state)
{
    (void)state;
    assert_int_equal(pawl_server_stop(NULL), PAWL_OK);
}

#define on_a_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_in_memory_serves_its_port),
        cmocka_unit_test(several_servers_do_not_share_their_nodes),
        cmocka_unit_test(servers_start_and_stop_in_several_threads_at_once),
        on_a_folder(a_folder_keeps_its_nodes),
        on_a_folder(a_unix_socket_serves_without_a_port),
        on_a_folder(one_folder_has_one_server),
        cmocka_unit_test(a_port_in_use_is_busy),
        on_a_folder(a_folder_that_is_a_file_is_refused),
        on_a_folder(options_that_contradict_each_other_are_refused),
        cmocka_unit_test(all_bad_properties_are_named_at_once),
        cmocka_unit_test(a_property_takes_effect),
        cmocka_unit_test(each_server_has_a_log_of_its_own),
        on_a_folder(the_servers_other_threads_log_to_it_too),
        on_a_folder(a_server_cannot_stop_itself),
        on_a_folder(signals_stay_with_the_program),
        on_a_folder(stopping_tells_the_clients),
        on_a_folder(a_server_whose_disk_fails_says_so),
        cmocka_unit_test(stopping_nothing_is_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
