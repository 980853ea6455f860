/* SPDX-License-Identifier: Apache-2.0 */
#include "server/four_letter.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/server_fixture.h"
#include "lib/test.h"
#include "lib/vectors.h"
#include "pawl/error.h"
#include "server/report_text.h"
#include "server/version_text.h"

/* ---- comparing shapes ---- */

static const char *skip_number(const char *p)
{
    if (p[0] == '0' && p[1] == 'x') {
        p += 2;
        while (isxdigit((unsigned char)*p)) {
            p++;
        }
        return p;
    }
    if (*p == '-') {
        p++;
    }
    while (isdigit((unsigned char)*p)) {
        p++;
    }
    return p;
}

/* Every number becomes 9: what remains is the shape. */
static void mask(const char *text, struct strbuf *out)
{
    while (*text != '\0') {
        bool negative = text[0] == '-' && isdigit((unsigned char)text[1]);

        if (isdigit((unsigned char)*text) || negative) {
            text = skip_number(text);
            strbuf_append_str(out, "9");
        } else {
            strbuf_append(out, text++, 1);
        }
    }
}

static void assert_same_shape(const char *actual, const char *expected)
{
    struct strbuf a, e;

    strbuf_init(&a, STRBUF_NO_LIMIT);
    strbuf_init(&e, STRBUF_NO_LIMIT);
    mask(actual, &a);
    mask(expected, &e);
    assert_string_equal(strbuf_cstr(&a), strbuf_cstr(&e));
    strbuf_fini(&a);
    strbuf_fini(&e);
}

/* The recorded answer, with our version where it has Apache's. */
static char *recorded_of(const char *word, const char *role)
{
    static const char theirs[] = "3.8.0-${mvngit.commit.id}, built on 2024-12-29 17:54 UTC";
    char path[512];
    struct bytes file;
    struct strbuf out;
    const char *text, *at;

    snprintf(path, sizeof(path), VECTORS "/4lw/%s.%s.txt", word, role);
    file = vectors_file(path);
    text = (const char *)file.data;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    while ((at = strstr(text, theirs)) != NULL) {
        strbuf_append(&out, text, (size_t)(at - text));
        strbuf_append_str(&out, SERVER_VERSION_TEXT);
        text = at + strlen(theirs);
    }
    strbuf_append_str(&out, text);
    strbuf_cstr(&out);
    free((void *)file.data);
    return (char *)out.data; /* the caller's to free */
}

static char *recorded(const char *word)
{
    return recorded_of(word, "standalone");
}

/* The session that the recording was made with: two clients, three ephemerals, four watches. */
struct scene {
    struct server_fixture f;
    struct connection *a, *b;
};

static void set_scene(struct scene *x)
{
    fixture_init(&x->f, NULL);
    x->a = fixture_client(&x->f, 30000);
    x->b = fixture_client(&x->f, 10000);
    assert_int_equal(fixture_create(&x->f, x->a, "/app", "", 0), PAWL_OK);
    assert_int_equal(fixture_create(&x->f, x->a, "/app/config", "v1", 0), PAWL_OK);
    assert_int_equal(fixture_create(&x->f, x->a, "/app/q-", "", CREATE_EPHEMERAL_SEQUENTIAL), 0);
    assert_int_equal(fixture_create(&x->f, x->a, "/app/lock", "", CREATE_EPHEMERAL), PAWL_OK);
    assert_int_equal(fixture_create(&x->f, x->b, "/app/member-", "", CREATE_EPHEMERAL_SEQUENTIAL),
                     PAWL_OK);
    fixture_exists(&x->f, x->a, "/app/none", true);
    fixture_get(&x->f, x->a, "/app/config", true);
    fixture_get(&x->f, x->b, "/app/config", true);
}

static void clear_scene(struct scene *x)
{
    fixture_fini(&x->f);
}

static void assert_like_recorded(struct scene *x, const char *word)
{
    char *expected = recorded(word);

    assert_same_shape(fixture_word(&x->f, word), expected);
    free(expected);
}

/* ---- words that say the same whatever has happened ---- */

static void plain_answers_are_apaches_to_the_byte(void **state)
{
    static const char *const words[] = {"ruok", "isro", "gtmk", "srst", "crst"};
    struct scene x;

    (void)state;
    set_scene(&x);
    for (size_t i = 0; i < TEST_COUNT(words); i++) {
        char *expected = recorded(words[i]);

        assert_string_equal(fixture_word(&x.f, words[i]), expected);
        free(expected);
    }
    clear_scene(&x);
}

static void what_follows_a_word_is_ignored(void **state)
{
    struct scene x;

    (void)state;
    set_scene(&x);
    assert_string_equal(fixture_word(&x.f, "ruok\n"), "imok");
    assert_string_equal(fixture_word(&x.f, "ruok\r\nstat\r\n"), "imok");
    clear_scene(&x);
}

static void a_word_may_come_byte_by_byte(void **state)
{
    struct scene x;
    struct connection *c;

    (void)state;
    set_scene(&x);
    c = fixture_connect(&x.f);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(c->state, CONNECTION_FRESH);
        fixture_send(&x.f, c, bytes_of(&"ruok"[i], 1));
    }
    assert_str_view(fixture_take(&x.f, c), "imok");
    clear_scene(&x);
}

static void the_trace_mask_is_eight_bytes_behind_stmk(void **state)
{
    static const uint8_t stmk_250[] = {'s', 't', 'm', 'k', 0, 0, 0, 0, 0, 0, 0, 250};
    struct scene x;
    struct connection *c;
    char *expected = recorded("stmk");

    (void)state;
    set_scene(&x);
    c = fixture_connect(&x.f);
    fixture_send(&x.f, c, bytes_of(stmk_250, sizeof(stmk_250)));
    assert_int_equal(c->state, CONNECTION_CLOSING);
    assert_str_view(fixture_take(&x.f, c), expected);
    assert_string_equal(fixture_word(&x.f, "gtmk"), "250");
    free(expected);
    clear_scene(&x);
}

/* As Apache's: it reads what is there, and does not wait for the rest. */
static void stmk_without_its_mask_closes_silently(void **state)
{
    static const char *const texts[] = {"stmk", "stmk1234567"};
    struct scene x;

    (void)state;
    set_scene(&x);
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        struct connection *c = fixture_connect(&x.f);

        fixture_send(&x.f, c, bytes_str(texts[i]));
        assert_int_equal(c->state, CONNECTION_CLOSING);
        assert_int_equal(c->out.len, 0);
    }
    assert_string_equal(fixture_word(&x.f, "gtmk"), "306");
    clear_scene(&x);
}

static void a_telnet_interrupt_closes_silently(void **state)
{
    struct scene x;

    (void)state;
    set_scene(&x);
    assert_string_equal(fixture_word(&x.f, "\xff\xf4\xff\xfd\x06"), "");
    clear_scene(&x);
}

static void other_bytes_are_not_words(void **state)
{
    static const char *const words[] = {"RUOK", "nope", "help", "GET ", "srvR"};
    struct scene x;

    (void)state;
    set_scene(&x);
    for (size_t i = 0; i < TEST_COUNT(words); i++) {
        assert_string_equal(fixture_word(&x.f, words[i]), ""); /* a length far too large */
    }
    assert_false(four_letter_is_known(0));
    assert_false(four_letter_is_known(44));
    clear_scene(&x);
}

static void a_word_after_the_handshake_is_a_length(void **state)
{
    struct scene x;

    (void)state;
    set_scene(&x);
    fixture_send(&x.f, x.a, bytes_str("ruok"));
    assert_int_equal(x.a->state, CONNECTION_CLOSING);
    assert_int_equal(fixture_take(&x.f, x.a).len, 0);
    clear_scene(&x);
}

/* ---- the whitelist ---- */

static void assert_refused(struct server_fixture *f, const char *word)
{
    char expected[128];

    snprintf(expected, sizeof(expected), "%s is not executed because it is not in the whitelist.\n",
             word);
    assert_string_equal(fixture_word(f, word), expected);
}

static void only_srvr_is_on_the_list_by_default(void **state)
{
    static const char *const refused[] = {"conf", "cons", "crst", "dirs", "dump", "envi",
                                          "gtmk", "hash", "isro", "mntr", "ruok", "srst",
                                          "stat", "stmk", "wchc", "wchp", "wchs"};
    struct server_options options = fixture_options();
    struct server_fixture f;
    struct bytes told = vectors_file(VECTORS "/4lw/mntr.notwhitelisted.txt");

    (void)state;
    options.words = NULL;
    fixture_init(&f, &options);
    for (size_t i = 0; i < TEST_COUNT(refused); i++) {
        assert_refused(&f, refused[i]);
    }
    assert_string_equal(fixture_word(&f, "mntr"), (const char *)told.data);
    assert_non_null(strstr(fixture_word(&f, "srvr"), "Mode: standalone\n"));
    free((void *)told.data);
    fixture_fini(&f);
}

static void the_list_is_commas_and_blanks(void **state)
{
    struct server_options options = fixture_options();
    struct server_fixture f;

    (void)state;
    options.words = " ruok,\tmntr , nonsense,,stat";
    fixture_init(&f, &options);
    assert_string_equal(fixture_word(&f, "ruok"), "imok");
    assert_true(strlen(fixture_word(&f, "mntr")) > 1000);
    assert_non_null(strstr(fixture_word(&f, "stat"), "Clients:\n"));
    assert_non_null(strstr(fixture_word(&f, "srvr"), "Mode: standalone\n"));
    assert_refused(&f, "conf");
    fixture_fini(&f);
    assert_true(four_letter_is_listed("*", "wchc"));
    assert_true(four_letter_is_listed("ruok, *", "wchc"));
    assert_false(four_letter_is_listed("ruo,ruokk,ru ok", "ruok"));
    assert_false(four_letter_is_listed("", "ruok"));
}

static void read_only_mode_lists_isro(void **state)
{
    struct server_options options = fixture_options();
    struct server_fixture f;

    (void)state;
    options.words = "ruok";
    options.read_only_mode = true;
    fixture_init(&f, &options);
    assert_string_equal(fixture_word(&f, "isro"), "rw");
    assert_refused(&f, "conf");
    fixture_fini(&f);
}

/* ---- formats ---- */

static void conf_dirs_and_envi_have_apaches_lines(void **state)
{
    struct scene x;
    char *expected = recorded("envi");
    char *java = strstr(expected, "java.version=");
    const char *os = strstr(expected, "os.name=");

    (void)state;
    set_scene(&x);
    assert_string_equal(fixture_word(&x.f, "conf"), "clientPort=2181\n"
                                                    "secureClientPort=-1\n"
                                                    "dataDir=/var/lib/zookeeper/data/version-2\n"
                                                    "dataDirSize=457\n"
                                                    "dataLogDir=/var/lib/zookeeper/log/version-2\n"
                                                    "dataLogSize=458\n"
                                                    "tickTime=2000\n"
                                                    "maxClientCnxns=60\n"
                                                    "minSessionTimeout=4000\n"
                                                    "maxSessionTimeout=40000\n"
                                                    "clientPortListenBacklog=-1\n"
                                                    "serverId=0\n");
    assert_string_equal(fixture_word(&x.f, "dirs"), "datadir_size: 457\nlogdir_size: 458\n");
    assert_non_null(strstr(fixture_word(&x.f, "envi"), os)); /* to the last byte */
    *java = '\0';
    assert_non_null(strstr(fixture_word(&x.f, "envi"), expected));
    free(expected);
    clear_scene(&x);
}

static void srvr_has_apaches_lines(void **state)
{
    struct scene x;

    (void)state;
    set_scene(&x);
    assert_like_recorded(&x, "srvr");
    assert_string_equal(fixture_word(&x.f, "srvr"),
                        "Zookeeper version: " SERVER_VERSION_TEXT "\n"
                        "Latency min/avg/max: 0/0.0/0\n"
                        "Received: 12\n" /* two handshakes, eight requests, two words */
                        "Sent: 11\n"
                        "Connections: 3\n"
                        "Outstanding: 0\n"
                        "Zxid: 0x7\n"
                        "Mode: standalone\n"
                        "Node count: 10\n");
    clear_scene(&x);
}

static void a_fresh_server_has_five_nodes(void **state)
{
    struct server_fixture f;

    (void)state;
    fixture_init(&f, NULL);
    assert_non_null(strstr(fixture_word(&f, "srvr"), "\nNode count: 5\n"));
    fixture_fini(&f);
}

static void stat_lists_the_clients(void **state)
{
    struct scene x;
    const char *text;

    (void)state;
    set_scene(&x);
    text = fixture_word(&x.f, "stat");
    assert_non_null(strstr(text, "\nClients:\n"
                                 " /127.0.0.1:40001[1](queued=0,recved=7,sent=7)\n"
                                 " /127.0.0.1:40002[1](queued=0,recved=3,sent=3)\n"
                                 " /127.0.0.1:40003[0](queued=0,recved=1,sent=0)\n"
                                 "\n"
                                 "Latency min/avg/max: "));
    clear_scene(&x);
}

static void cons_tells_all_of_a_session(void **state)
{
    struct scene x;
    char expected[512];

    (void)state;
    set_scene(&x);
    fixture_advance(&x.f, 100);
    fixture_ping(&x.f, x.b);
    snprintf(expected, sizeof(expected),
             " /127.0.0.1:40001[1](queued=0,recved=7,sent=7,sid=0x%llx,lop=GETD,"
             "est=1794709440000,to=30000,lcxid=0x7,lzxid=0x7,lresp=1000000,llat=0,minlat=0,"
             "avglat=0,maxlat=0)\n"
             " /127.0.0.1:40002[1](queued=0,recved=4,sent=4,sid=0x%llx,lop=PING,"
             "est=1794709440000,to=10000,lcxid=0x8,lzxid=0x7,lresp=1000100,llat=0,minlat=0,"
             "avglat=0,maxlat=0)\n"
             " /127.0.0.1:40003[0](queued=0,recved=1,sent=0)\n"
             "\n",
             (unsigned long long)x.a->session_id, (unsigned long long)x.b->session_id);
    assert_string_equal(fixture_word(&x.f, "cons"), expected);
    clear_scene(&x);
}

static void crst_resets_what_cons_tells(void **state)
{
    struct scene x;
    char expected[256];

    (void)state;
    set_scene(&x);
    fixture_word(&x.f, "crst");
    snprintf(expected, sizeof(expected),
             " /127.0.0.1:40001[1](queued=0,recved=0,sent=0,sid=0x%llx,lop=NA,"
             "est=1794709440000,to=30000,lzxid=0xffffffffffffffff,lresp=0,llat=0,minlat=0,"
             "avglat=0,maxlat=0)\n",
             (unsigned long long)x.a->session_id);
    assert_memory_equal(fixture_word(&x.f, "cons"), expected, strlen(expected));
    clear_scene(&x);
}

static void requests_in_flight_are_queued(void **state)
{
    struct server_fixture f;
    struct connection *c;
    struct strbuf frames;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    f.hold = true;
    strbuf_init(&frames, STRBUF_NO_LIMIT);
    for (int32_t xid = 1; xid <= 3; xid++) { /* delete, ping, ping: the pings wait for it */
        size_t start = frames.len;

        jute_write_int(&frames, 0);
        jute_write_int(&frames, xid);
        jute_write_int(&frames, xid == 1 ? OP_DELETE : OP_PING);
        if (xid == 1) {
            jute_write_str(&frames, "/none");
            jute_write_int(&frames, -1);
        }
        jute_patch_int(&frames, start, (int32_t)(frames.len - start) - 4);
    }
    fixture_send(&f, c, strbuf_bytes(&frames));
    strbuf_fini(&frames);
    assert_non_null(strstr(fixture_word(&f, "cons"), "/127.0.0.1:40001[1](queued=3,recved=4,"));
    assert_non_null(strstr(fixture_word(&f, "srvr"), "\nOutstanding: 3\n"));
    fixture_commit_all(&f); /* the answers wait to be sent now */
    assert_non_null(strstr(fixture_word(&f, "cons"), "/127.0.0.1:40001[5](queued=0,recved=4,"));
    fixture_fini(&f);
}

static void dump_lists_sessions_ephemerals_and_connections(void **state)
{
    struct scene x;
    char expected[2048];
    unsigned long long a, b;
    const char *text;

    (void)state;
    set_scene(&x);
    a = (unsigned long long)x.a->session_id;
    b = (unsigned long long)x.b->session_id;
    text = fixture_word(&x.f, "dump");
    snprintf(expected, sizeof(expected),
             "SessionTracker dump:\n"
             "Session Sets (2)/(2):\n"
             "1 expire at Sun Nov 15 02:24:12 UTC 2026:\n"
             "\t0x%llx\n"
             "1 expire at Sun Nov 15 02:24:32 UTC 2026:\n"
             "\t0x%llx\n"
             "ephemeral nodes dump:\n"
             "Sessions with Ephemerals (2):\n",
             b, a);
    assert_memory_equal(text, expected, strlen(expected));
    snprintf(expected, sizeof(expected), "0x%llx:\n\t/app/member-0000000003\n", b);
    assert_non_null(strstr(text, expected));
    snprintf(expected, sizeof(expected), "0x%llx:\n\t/app/", a);
    assert_non_null(strstr(text, expected));
    assert_non_null(strstr(text, "\t/app/q-0000000001\n"));
    assert_non_null(strstr(text, "\t/app/lock\n"));
    snprintf(expected, sizeof(expected),
             "Connections dump:\n"
             "Connections Sets (2)/(3):\n"
             "2 expire at Sun Nov 15 02:24:20 UTC 2026:\n"
             "\tip: /127.0.0.1:40002 sessionId: 0x%llx\n"
             "\tip: /127.0.0.1:40003 sessionId: 0x0\n"
             "1 expire at Sun Nov 15 02:24:40 UTC 2026:\n"
             "\tip: /127.0.0.1:40001 sessionId: 0x%llx\n",
             b, a);
    assert_non_null(strstr(text, expected));
    assert_string_equal(strstr(text, "Connections dump:"), expected); /* and nothing behind it */
    clear_scene(&x);
}

static void watches_are_listed_by_session_and_by_path(void **state)
{
    struct scene x;
    char expected[512];
    unsigned long long a, b;

    (void)state;
    set_scene(&x);
    a = (unsigned long long)x.a->session_id;
    b = (unsigned long long)x.b->session_id;
    snprintf(expected, sizeof(expected),
             "0x%llx\n\t/app/none\n\t/app/config\n0x%llx\n\t/app/config\n\n", a, b);
    assert_string_equal(fixture_word(&x.f, "wchc"), expected);
    snprintf(expected, sizeof(expected), "/app/config\n\t0x%llx\n\t0x%llx\n", a, b);
    assert_non_null(strstr(fixture_word(&x.f, "wchp"), expected));
    snprintf(expected, sizeof(expected), "/app/none\n\t0x%llx\n", a);
    assert_non_null(strstr(fixture_word(&x.f, "wchp"), expected));
    assert_same_shape(fixture_word(&x.f, "wchs"),
                      "2 connections watching 2 paths\nTotal watches:3\n");
    assert_like_recorded(&x, "wchs");
    clear_scene(&x);
}

/* Whoever sees the order of a table learns something of its key, and can choose names by it. */
static void lists_are_sorted_and_not_in_the_order_of_a_table(void **state)
{
    enum { N = 40 };
    struct server_fixture f;
    char path[32], all[N * 64] = "";
    struct connection *c;
    unsigned long long id;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    id = (unsigned long long)c->session_id;
    for (int i = N - 1; i >= 0; i--) {
        snprintf(path, sizeof(path), "/none-%02d", i);
        fixture_exists(&f, c, path, true);
    }
    for (int i = 0; i < N; i++) {
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "/none-%02d\n\t0x%llx\n", i, id);
    }
    strcat(all, "\n");
    assert_string_equal(fixture_word(&f, "wchp"), all);
    fixture_fini(&f);
}

static void no_watches_are_an_empty_line(void **state)
{
    struct server_fixture f;

    (void)state;
    fixture_init(&f, NULL);
    assert_string_equal(fixture_word(&f, "wchc"), "\n");
    assert_string_equal(fixture_word(&f, "wchp"), "\n");
    assert_string_equal(fixture_word(&f, "wchs"),
                        "0 connections watching 0 paths\nTotal watches:0\n");
    fixture_fini(&f);
}

static void the_watch_count_follows_what_fires_and_goes(void **state)
{
    struct scene x;

    (void)state;
    set_scene(&x);
    fixture_children(&x.f, x.b, "/app", true);
    fixture_exists(&x.f, x.b, "/app", true); /* a second kind at the same path */
    assert_non_null(strstr(fixture_word(&x.f, "wchs"), "2 connections watching 3 paths\n"
                                                       "Total watches:5\n"));
    fixture_set(&x.f, x.a, "/app/config", "v2");
    assert_non_null(strstr(fixture_word(&x.f, "wchs"), "Total watches:3\n"));
    server_disconnect(x.f.server, x.b);
    assert_string_equal(fixture_word(&x.f, "wchs"),
                        "1 connections watching 1 paths\nTotal watches:1\n");
    clear_scene(&x);
}

static void hash_lists_the_digest_of_every_128th_zxid(void **state)
{
    struct server_fixture f;
    struct connection *c;
    char expected[128];
    uint64_t digest = 0;

    (void)state;
    fixture_init(&f, NULL);
    c = fixture_client(&f, 10000);
    fixture_create(&f, c, "/app", "", 0);
    assert_string_equal(fixture_word(&f, "hash"), "");
    while (f.server->applied_zxid < 300) {
        fixture_set(&f, c, "/app", "data");
        digest = f.server->applied_zxid == 0x80 ? tree_digest(f.server->tree) : digest;
    }
    snprintf(expected, sizeof(expected), "80: %lld\n100: ", (long long)digest);
    assert_memory_equal(fixture_word(&f, "hash"), expected, strlen(expected));
    fixture_fini(&f);
}

static void the_digest_log_keeps_the_newest(void **state)
{
    static struct digest_log l;

    (void)state;
    for (int64_t i = 1; i <= DIGEST_LOG_LIMIT + 5; i++) {
        assert_true(digest_log_wants(i * 128));
        assert_false(digest_log_wants(i * 128 + 1));
        digest_log_append(&l, i * 128, (uint64_t)i);
    }
    assert_int_equal(l.count, DIGEST_LOG_LIMIT);
    assert_int_equal(digest_log_at(&l, 0)->digest, 6);
    assert_int_equal(digest_log_at(&l, DIGEST_LOG_LIMIT - 1)->digest, DIGEST_LOG_LIMIT + 5);
}

static void mntr_begins_with_the_classic_keys(void **state)
{
    static const char *const classic[] = {"zk_version",
                                          "zk_avg_latency",
                                          "zk_max_latency",
                                          "zk_min_latency",
                                          "zk_packets_received",
                                          "zk_packets_sent",
                                          "zk_num_alive_connections",
                                          "zk_outstanding_requests",
                                          "zk_server_state",
                                          "zk_znode_count",
                                          "zk_watch_count",
                                          "zk_ephemerals_count",
                                          "zk_approximate_data_size",
                                          "zk_open_file_descriptor_count",
                                          "zk_max_file_descriptor_count"};
    struct scene x;
    const char *text, *at;

    (void)state;
    set_scene(&x);
    text = fixture_word(&x.f, "mntr");
    at = text;
    for (size_t i = 0; i < TEST_COUNT(classic); i++) {
        assert_memory_equal(at, classic[i], strlen(classic[i]));
        assert_int_equal(at[strlen(classic[i])], '\t');
        at = strchr(at, '\n') + 1;
    }
    assert_true(at - text < 1024);
    assert_non_null(strstr(text, "zk_version\t" SERVER_VERSION_TEXT "\n"));
    assert_non_null(strstr(text, "zk_server_state\tstandalone\n"));
    assert_non_null(strstr(text, "zk_open_file_descriptor_count\t50\n"));
    clear_scene(&x);
}

/* ---- in an ensemble ---- */

static void standing_of_four(struct role *r, struct role_standing *out)
{
    (void)r;
    *out = (struct role_standing){.leader = 3,
                                  .n_voters = 3,
                                  .n_learners = 3,
                                  .n_synced_followers = 2,
                                  .n_synced_observers = 1};
}

/* The ensemble of the recording: server 3 leads, 4 is an observer. */
static void become(struct scene *x, enum role_kind kind)
{
    struct server_facts *f = &x->f.server->facts;

    x->f.role.kind = kind;
    x->f.role.standing = standing_of_four;
    f->membership = "server.1=127.0.0.1:22311:22321:participant;127.0.0.1:22301\n"
                    "server.2=127.0.0.1:22312:22322:participant;127.0.0.1:22302\n"
                    "server.3=127.0.0.1:22313:22323:participant;127.0.0.1:22303\n"
                    "server.4=127.0.0.1:22314:22324:observer;127.0.0.1:22304\n"
                    "version=100000000";
    f->server_id = kind == ROLE_LEADER ? 3 : kind == ROLE_FOLLOWER ? 1 : 4;
    f->init_limit = 10;
    f->sync_limit = 5;
    f->quorum_port = 22310 + (int)f->server_id;
    f->election_port = 22320 + (int)f->server_id;
    f->observer = kind == ROLE_OBSERVER;
}

static const enum role_kind serving_roles[] = {ROLE_LEADER, ROLE_FOLLOWER, ROLE_OBSERVER};

static void members_have_apaches_lines(void **state)
{
    static const char *const words[] = {"srvr", "ruok", "isro", "srst", "crst"};

    (void)state;
    for (size_t r = 0; r < TEST_COUNT(serving_roles); r++) {
        struct scene x;

        set_scene(&x);
        become(&x, serving_roles[r]);
        for (size_t i = 0; i < TEST_COUNT(words); i++) {
            char *expected = recorded_of(words[i], role_name(serving_roles[r]));

            assert_same_shape(fixture_word(&x.f, words[i]), expected);
            free(expected);
        }
        clear_scene(&x);
    }
}

/* From serverId on; what stands before is as of a server alone. */
static void conf_of_a_member_ends_with_the_membership(void **state)
{
    (void)state;
    for (size_t r = 0; r < TEST_COUNT(serving_roles); r++) {
        char *expected = recorded_of("conf", role_name(serving_roles[r]));
        struct scene x;

        set_scene(&x);
        become(&x, serving_roles[r]);
        assert_string_equal(strstr(fixture_word(&x.f, "conf"), "serverId="),
                            strstr(expected, "serverId="));
        free(expected);
        clear_scene(&x);
    }
}

static void a_leader_tells_the_sizes_of_its_proposals(void **state)
{
    struct scene x;

    (void)state;
    set_scene(&x);
    become(&x, ROLE_LEADER);
    metrics_proposal(&x.f.server->stats, 107);
    metrics_proposal(&x.f.server->stats, 48);
    metrics_proposal(&x.f.server->stats, 71);
    assert_non_null(strstr(fixture_word(&x.f, "srvr"), "Proposal sizes last/min/max: 71/48/107\n"));
    assert_non_null(strstr(fixture_word(&x.f, "stat"), "Proposal sizes last/min/max: 71/48/107\n"));
    become(&x, ROLE_FOLLOWER);
    assert_null(strstr(fixture_word(&x.f, "srvr"), "Proposal"));
    clear_scene(&x);
}

static void a_learner_dumps_sessions_without_their_end(void **state)
{
    char expected[256];
    struct scene x;
    const char *text;

    (void)state;
    set_scene(&x);
    become(&x, ROLE_FOLLOWER);
    snprintf(expected, sizeof(expected),
             "SessionTracker dump:\nGlobal Sessions(2):\n0x%" PRIx64 "\t30000ms\n0x%" PRIx64
             "\t10000ms\nephemeral nodes dump:\n",
             (uint64_t)x.a->session_id, (uint64_t)x.b->session_id);
    text = fixture_word(&x.f, "dump");
    assert_memory_equal(text, expected, strlen(expected));
    clear_scene(&x);
}

static void who_serves_readers_only_says_so(void **state)
{
    static const char *const words[] = {"srvr", "isro", "ruok"};
    struct scene x;
    char *conf = recorded_of("conf", "readonly");
    const char *mntr;

    (void)state;
    set_scene(&x);
    become(&x, ROLE_READ_ONLY);
    x.f.role.standing = NULL;
    x.f.server->facts.server_id = 1;
    x.f.server->facts.quorum_port = 22311;
    x.f.server->facts.election_port = 22321;
    for (size_t i = 0; i < TEST_COUNT(words); i++) {
        char *expected = recorded_of(words[i], "readonly");

        assert_same_shape(fixture_word(&x.f, words[i]), expected);
        free(expected);
    }
    assert_string_equal(strstr(fixture_word(&x.f, "conf"), "serverId="), strstr(conf, "serverId="));
    free(conf);
    assert_non_null(strstr(fixture_word(&x.f, "stat"),
                           "\nREAD-ONLY mode; serving only read-only clients\nClients:\n"));
    mntr = fixture_word(&x.f, "mntr");
    assert_non_null(strstr(mntr, "zk_server_state\tread-only\n"));
    assert_null(strstr(mntr, "zk_peer_state"));
    assert_non_null(strstr(fixture_word(&x.f, "dump"), "dump:\nGlobal Sessions(2):\n"));
    x.f.role.kind = ROLE_ALONE;
    clear_scene(&x);
}

/* The one of this server is listed with its end, the others as before. */
static void local_sessions_are_dumped_by_themselves(void **state)
{
    struct scene x;
    struct connection *c;
    char expected[64];

    (void)state;
    set_scene(&x);
    x.f.server->options.local_sessions = true;
    assert_non_null(strstr(fixture_word(&x.f, "dump"),
                           "dump:\nLocal Session Sets (0)/(0):\nGlobal Session Sets ("));
    c = fixture_client(&x.f, 10000);
    snprintf(expected, sizeof(expected), ":\n\t0x%" PRIx64 "\nGlobal Session Sets (2)/(2):\n",
             (uint64_t)c->session_id);
    assert_non_null(
        strstr(fixture_word(&x.f, "dump"), "Local Session Sets (1)/(1):\n1 expire at "));
    assert_non_null(strstr(fixture_word(&x.f, "dump"), expected));
    become(&x, ROLE_OBSERVER);
    assert_non_null(strstr(fixture_word(&x.f, "dump"), "\nGlobal Sessions(2):\n"));
    assert_non_null(strstr(fixture_word(&x.f, "mntr"), "zk_local_sessions\t1\n"));
    assert_non_null(strstr(fixture_word(&x.f, "mntr"), "zk_global_sessions\t2\n"));
    clear_scene(&x);
}

static void a_leader_may_serve_nobody(void **state)
{
    char *expected = recorded_of("srvr", "notserving");
    struct scene x;

    (void)state;
    set_scene(&x);
    x.f.server->options.leader_serves_nobody = true;
    become(&x, ROLE_LEADER);
    assert_string_equal(fixture_word(&x.f, "srvr"), expected);
    assert_string_equal(fixture_word(&x.f, "isro"), "null");
    become(&x, ROLE_FOLLOWER);
    assert_string_equal(fixture_word(&x.f, "isro"), "rw");
    free(expected);
    clear_scene(&x);
}

static void who_looks_for_a_leader_does_not_serve(void **state)
{
    static const char *const words[] = {"ruok", "isro", "gtmk", "srvr", "stat", "mntr",
                                        "conf", "cons", "dump", "dirs", "srst", "crst",
                                        "hash", "wchs", "wchc", "wchp"};
    struct scene x;

    (void)state;
    set_scene(&x);
    become(&x, ROLE_NONE);
    for (size_t i = 0; i < TEST_COUNT(words); i++) {
        char *expected = recorded_of(words[i], "notserving");

        assert_string_equal(fixture_word(&x.f, words[i]), expected);
        free(expected);
    }
    x.f.role.kind = ROLE_ALONE;
    clear_scene(&x);
}

static void dates_are_javas(void **state)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {0, "Thu Jan 01 00:00:00 UTC 1970"},          {951868799, "Tue Feb 29 23:59:59 UTC 2000"},
        {951868800, "Wed Mar 01 00:00:00 UTC 2000"},  {1794709458, "Sun Nov 15 02:24:18 UTC 2026"},
        {4107542399, "Sun Feb 28 23:59:59 UTC 2100"}, {4107542400, "Mon Mar 01 00:00:00 UTC 2100"},
    };
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        strbuf_clear(&out);
        report_text_date(cases[i].seconds * 1000 + 7, &out);
        assert_string_equal(strbuf_cstr(&out), cases[i].text);
    }
    strbuf_fini(&out);
}

static void ipv6_addresses_stand_in_brackets(void **state)
{
    struct strbuf out;

    (void)state;
    strbuf_init(&out, STRBUF_NO_LIMIT);
    report_text_peer(&(struct peer){.ip = "0:0:0:0:0:0:0:1", .port = 4711}, &out);
    assert_string_equal(strbuf_cstr(&out), "/[0:0:0:0:0:0:0:1]:4711");
    strbuf_fini(&out);
}

static void the_version_is_one_that_collectors_understand(void **state)
{
    int major, minor, micro;

    (void)state;
    assert_int_equal(sscanf(SERVER_VERSION_TEXT, "%d.%d.%d-", &major, &minor, &micro), 3);
    assert_non_null(strstr(SERVER_VERSION_TEXT, ", built on "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_answers_are_apaches_to_the_byte),
        cmocka_unit_test(what_follows_a_word_is_ignored),
        cmocka_unit_test(a_word_may_come_byte_by_byte),
        cmocka_unit_test(the_trace_mask_is_eight_bytes_behind_stmk),
        cmocka_unit_test(stmk_without_its_mask_closes_silently),
        cmocka_unit_test(a_telnet_interrupt_closes_silently),
        cmocka_unit_test(other_bytes_are_not_words),
        cmocka_unit_test(a_word_after_the_handshake_is_a_length),
        cmocka_unit_test(only_srvr_is_on_the_list_by_default),
        cmocka_unit_test(the_list_is_commas_and_blanks),
        cmocka_unit_test(read_only_mode_lists_isro),
        cmocka_unit_test(conf_dirs_and_envi_have_apaches_lines),
        cmocka_unit_test(srvr_has_apaches_lines),
        cmocka_unit_test(a_fresh_server_has_five_nodes),
        cmocka_unit_test(stat_lists_the_clients),
        cmocka_unit_test(cons_tells_all_of_a_session),
        cmocka_unit_test(crst_resets_what_cons_tells),
        cmocka_unit_test(requests_in_flight_are_queued),
        cmocka_unit_test(dump_lists_sessions_ephemerals_and_connections),
        cmocka_unit_test(watches_are_listed_by_session_and_by_path),
        cmocka_unit_test(lists_are_sorted_and_not_in_the_order_of_a_table),
        cmocka_unit_test(no_watches_are_an_empty_line),
        cmocka_unit_test(the_watch_count_follows_what_fires_and_goes),
        cmocka_unit_test(hash_lists_the_digest_of_every_128th_zxid),
        cmocka_unit_test(the_digest_log_keeps_the_newest),
        cmocka_unit_test(mntr_begins_with_the_classic_keys),
        cmocka_unit_test(members_have_apaches_lines),
        cmocka_unit_test(conf_of_a_member_ends_with_the_membership),
        cmocka_unit_test(a_leader_tells_the_sizes_of_its_proposals),
        cmocka_unit_test(a_learner_dumps_sessions_without_their_end),
        cmocka_unit_test(who_serves_readers_only_says_so),
        cmocka_unit_test(local_sessions_are_dumped_by_themselves),
        cmocka_unit_test(a_leader_may_serve_nobody),
        cmocka_unit_test(who_looks_for_a_leader_does_not_serve),
        cmocka_unit_test(dates_are_javas),
        cmocka_unit_test(ipv6_addresses_stand_in_brackets),
        cmocka_unit_test(the_version_is_one_that_collectors_understand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
