/* SPDX-License-Identifier: Apache-2.0 */
/* seeds.c - makes the seed corpus of each fuzz target out of the recorded vectors.
 *
 *   fuzz-seeds VECTORS CONF OUT
 *
 * CONF is the folder of example configurations.
 *
 * One file per input, named by its number; nothing of it is kept in the repository. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/exported.h"
#include "cli/tar.h"
#include "lib/vectors.h"
#include "wire/ops.h"
#include "wire/packet.h"
#include "wire/reply.h"
#include "wire/vote.h"

static const char *vectors, *out_folder;
static int n_written;

static void make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        perror(path);
        exit(1);
    }
}

/* A folder without the seeds of an earlier run, whose numbers may have meant something else. */
static void make_empty_folder(const char *path)
{
    struct dirent **entries;
    char name[8192];
    int n;

    make_folder(path);
    n = scandir(path, &entries, NULL, NULL);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') {
            remove(name);
        }
        free(entries[i]);
    }
    if (n >= 0) {
        free(entries);
    }
}

enum { TARGETS_MAX = 64 };

/* How many seeds a target has so far. */
static struct {
    const char *target;
    int n;
} targets[TARGETS_MAX];

static int next_number(const char *target)
{
    char path[4096];
    size_t i = 0;

    while (i < TARGETS_MAX && targets[i].target != NULL && strcmp(targets[i].target, target) != 0) {
        i++;
    }
    if (i == TARGETS_MAX) {
        fprintf(stderr, "there are more targets than %d\n", TARGETS_MAX);
        exit(1);
    }
    if (targets[i].target == NULL) {
        targets[i].target = target;
        snprintf(path, sizeof(path), "%s/%s", out_folder, target);
        make_empty_folder(path);
    }
    return ++targets[i].n;
}

/* `choice` is the byte in front by which a target chooses; -1 for those that have none. */
static void seed(const char *target, int choice, struct bytes input)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s/%04d", out_folder, target, next_number(target));
    f = fopen(path, "wb");
    if (f == NULL) {
        perror(path);
        exit(1);
    }
    if (choice >= 0) {
        fputc(choice, f);
    }
    fwrite(input.data, 1, input.len, f);
    fclose(f);
    n_written++;
}

static struct bytes behind(struct bytes b, size_t n)
{
    return bytes_of(b.data + n, b.len - n);
}

/* What was asked last on each connection under each xid, for the replies. */
static struct {
    char connection[8];
    int32_t xid;
    int32_t op;
} asked[256];
static size_t n_asked;

static void seed_request(const struct client_line *line, struct bytes frame)
{
    struct jute_reader r = jute_reader_of(frame);
    int32_t xid = jute_read_int(&r);
    const struct op *op = op_find(jute_read_int(&r));

    if (op == NULL) {
        return;
    }
    if (n_asked < sizeof(asked) / sizeof(asked[0])) {
        snprintf(asked[n_asked].connection, sizeof(asked[0].connection), "%s", line->connection);
        asked[n_asked].xid = xid;
        asked[n_asked++].op = op->code;
    }
    seed("request", op_index(op), behind(frame, 8));
    if (op->body == BODY_MULTI) {
        seed("multi", op->code == OP_MULTI_READ, behind(frame, 8));
    }
    if (op->body == BODY_PATH_WATCH) {
        seed("path", -1, jute_read_buffer(&r));
    }
}

static void seed_reply(const struct client_line *line, struct bytes frame)
{
    struct jute_reader r = jute_reader_of(frame);
    struct reply_header h = reply_header_read(&r);

    if (h.xid == XID_EVENT) {
        seed("event", -1, frame);
        return;
    }
    for (size_t i = n_asked; i > 0; i--) {
        if (asked[i - 1].xid == h.xid && strcmp(asked[i - 1].connection, line->connection) == 0) {
            seed("reply", op_index(op_find(asked[i - 1].op)), frame);
            seed("client", op_index(op_find(asked[i - 1].op)), behind(frame, REPLY_HEADER_BYTES));
            return;
        }
    }
}

static void seed_line(const struct client_line *line, void *arg)
{
    struct bytes frame = bytes_of(line->bytes.data + 4, line->bytes.len - 4);

    (void)arg;
    if (load_u32(line->bytes.data) != frame.len) {
        return;
    }
    if (line->first) {
        seed("connect", !line->from_client, frame);
    } else if (line->from_client) {
        seed_request(line, frame);
    } else {
        seed_reply(line, frame);
    }
}

static void seed_path(const char *row, void *arg)
{
    uint8_t bytes[64];

    (void)arg;
    seed("path", -1, bytes_of(bytes, vectors_hex(row, bytes, sizeof(bytes))));
    seed("utf8", -1, bytes_of(bytes, vectors_hex(row, bytes, sizeof(bytes))));
}

static void seed_console(void)
{
    static const char *const texts[] = {
        "b{\"path\": \"/n\", \"data\": \"AAE=\", \"version\": 0, \"mode\": \"container\", \"acl\": "
        "[{\"scheme\": \"world\", \"id\": \"anyone\", \"perms\": \"cdrwa\"}]}",
        "b{\"user\": \"bob\", \"password\": \"x\", \"text\": \"[[\\\"\"}",
        "ta=1; pawl=abc; b=2",
        "t/a/b",
        "t_c_1-lock-0000000007",
        "tapplication/json; charset=utf-8",
        "t999",
        "mserver.3=[::1]:2888:3888:observer;0.0.0.0:2181",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        seed("console", -1, bytes_str(texts[i]));
    }
}

static void seed_admin(void)
{
    static const char *const texts[] = {"digest bob:secret",
                                        "ip",
                                        "localhost:8080",
                                        "[::1]:8080",
                                        "127.0.0.1:8080",
                                        "{\"percentage\": 50}",
                                        "-306",
                                        "9223372036854775808",
                                        "{\"percentage\": [[[]]]}"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        seed("admin", -1, bytes_str(texts[i]));
    }
    seed("admin", -1, bytes_of("localhost\0http://localhost", 26));
}

/* A vote of servers 1 and 2, then time; and the configuration in it. */
static void seed_election(struct bytes frame)
{
    struct notification n;
    struct strbuf story;

    strbuf_init(&story, STRBUF_NO_LIMIT);
    for (uint8_t id = 1; id <= 2; id++) {
        strbuf_append(&story, &id, 1);
        strbuf_append_bytes(&story, frame);
    }
    strbuf_append(&story, "\x0a\x0a\x0a", 3);
    seed("election", 0, strbuf_bytes(&story));
    seed("election", 1, strbuf_bytes(&story));
    strbuf_fini(&story);
    if (notification_read(bytes_of(frame.data + 4, frame.len - 4), &n)) {
        seed("members", -1, n.config);
        seed("change", 0, n.config);
        seed("change", 1, n.config);
    }
}

/* An exchange over the quorum port, as what its leader and its learner were given; behind each
 * packet a few jobs are done. */
static struct strbuf given[2];

static void end_exchange(void)
{
    for (int role = 0; role < 2; role++) {
        if (given[role].len > 0) {
            seed("quorum", role, strbuf_bytes(&given[role]));
            seed("quorum", role + 3, strbuf_bytes(&given[role])); /* with a history */
            strbuf_clear(&given[role]);
        }
    }
}

static void seed_exchange(const struct quorum_message *m)
{
    static const uint8_t packet[] = {0}, jobs[] = {4, 4, 4, 4}, writes[] = {7, 4, 13};
    struct strbuf *to = &given[m->from_dialler ? 0 : 1];

    if (strncmp(m->meaning, "FOLLOWERINFO", 12) == 0) {
        end_exchange();
    }
    if (to->limit == 0) {
        strbuf_init(to, STRBUF_NO_LIMIT);
    }
    strbuf_append(to, packet, sizeof packet);
    strbuf_append_bytes(to, m->bytes);
    strbuf_append(to, jobs, sizeof jobs);
    strbuf_append(to, writes, sizeof writes);
}

static void seed_message(const struct quorum_message *m, void *arg)
{
    (void)arg;
    if (strncmp(m->meaning, "INIT ", 5) == 0) {
        seed("vote", 0, m->bytes);
    } else if (strncmp(m->meaning, "NOTIF ", 6) == 0) {
        seed("vote", 1, m->bytes);
        seed_election(m->bytes);
    } else if (strstr(m->meaning, "SNAPSTREAM") != NULL) {
        seed("stream", 6, m->bytes);
    } else {
        bool sasl = m->bytes.len >= 8 && load_u64(m->bytes.data) == (uint64_t)QUORUM_AUTH_MAGIC;

        seed("packet", sasl, m->bytes);
        if (!sasl) {
            seed_exchange(m);
        }
    }
}

static void seed_payload(struct bytes payload, void *arg)
{
    (void)arg;
    seed("txn", -1, payload);
}

/* Log files are cut behind their last record: mutations in the padding find nothing. */
static void seed_file(const char *path, const char *name)
{
    struct bytes file = vectors_file(path);
    size_t len = file.len;

    if (strncmp(name, "log.", 4) == 0) {
        while (len > 16 && file.data[len - 1] == 0) {
            len--;
        }
        seed("txnlog", 0, bytes_of(file.data, len));
        seed("txnlog", 1, bytes_of(file.data, len));
        vectors_log(path, seed_payload, NULL);
    } else if (strncmp(name, "snapshot.", 9) == 0) {
        seed("snapshot", strstr(name, ".gz") ? 1 : strstr(name, ".snappy") ? 2 : 0, file);
    }
    free((void *)(uintptr_t)file.data);
}

typedef void (*file_fn)(const char *path, const char *name);

/* In order of name, so that the numbers mean the same everywhere. */
static void each_file(const char *folder, file_fn fn)
{
    struct dirent **entries;
    char path[4096];
    int n = scandir(folder, &entries, NULL, alphasort);

    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
            fn(path, entries[i]->d_name);
        }
        free(entries[i]);
    }
    if (n >= 0) {
        free(entries);
    }
}

static void seed_data_folder(const char *path, const char *name)
{
    struct stat info;

    (void)name;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        each_file(path, seed_data_folder);
    } else {
        seed_file(path, name);
    }
}

static void seed_config(const char *path, const char *name)
{
    struct bytes file;

    if (strstr(name, ".cfg") == NULL) {
        return;
    }
    file = vectors_file(path);
    seed("config", -1, file);
    free((void *)(uintptr_t)file.data);
}

static void seed_quorum_file(const char *path, const char *name)
{
    (void)name;
    vectors_quorum(path, seed_message, NULL);
    end_exchange();
}

/* Each JSON object that begins with the name of a service, to the last brace of its line. */
static void seed_instances(const char *path)
{
    static const char start[] = "{\"name\":";
    struct bytes file = vectors_file(path);

    for (const char *at = strstr((const char *)file.data, start); at != NULL;
         at = strstr(at + 1, start)) {
        size_t len = strcspn(at, "\n");

        while (at[len] != '}') {
            len--;
        }
        seed("instance", -1, bytes_of(at, len + 1));
    }
    free((void *)(uintptr_t)file.data);
}

/* Whatever a queue of Curator's has written. */
static void seed_curator_file(const char *path, const char *name)
{
    static const char hex[] = "data=hex:";
    struct bytes file;
    uint8_t bytes[256];

    if (strcmp(name, "servicediscovery.txt") == 0) {
        seed_instances(path);
    }
    if (strncmp(name, "distributed", 11) != 0 || strstr(name, "queue") == NULL) {
        return;
    }
    file = vectors_file(path);
    for (const char *at = strstr((const char *)file.data, hex); at != NULL; at = strstr(at, hex)) {
        at += sizeof(hex) - 1;
        seed("queue", -1, bytes_of(bytes, vectors_hex(at, bytes, sizeof(bytes))));
    }
    free((void *)(uintptr_t)file.data);
}

/* What reaches the command line, which nobody has recorded. */
static void seed_command_line(void)
{
    static const struct {
        const char *target;
        int choice;
        const char *text;
    } all[] = {
        {"line", -1, "create -s '/a b' \"two\\n\\x41\\\\\" # comment"},
        {"line", -1, "set /a 'un''quo'\"ted\"\tx"},
        {"line", -1, "get \"/half"},
        {"backup", 1,
         "pawl backup 1\nzxid 0x1f 0a1b2c3d\nsnapshot.5 1234 0a1b2c3d\nlog.6 5678 0\n"},
        {"backup", 1, "pawl backup 1\nzxid -\n"},
        {"http_head", -1,
         "HTTP/1.1 200 OK\r\nlast_zxid: 0x2\r\nsnapshot_size: 604\r\nContent-Length: 604\r\n\r\nx"},
        {"http_head", -1,
         "HTTP/1.0 429 Too Many\r\nRetry-After: 7\r\nTransfer-Encoding: x\r\n\r\n"},
        {"backup", 1, "pawl backup 1\nzxid 0x1f -\nsnapshot.1f.gz 9 ffffffff\n"},
        {"backup", 0, "pawl backup 1\nzxid -\nend 00000000\n"},
        {"import", 0,
         "{\"path\":\"/a/b\",\"data\":\"text\",\"acl\":[{\"scheme\":\"world\","
         "\"id\":\"anyone\",\"perms\":\"cdrwa\"}]}"},
        {"import", 1, "{\"path\":\"/\",\"data_base64\":\"AP8=\",\"ephemeral\":true}"},
        {"import", 0, "{\"path\":\"/null\",\"data\":null,\"acl\":[]}"},
        {"import", 0, "{\"path\":\"/t\",\"data\":\"\",\"ttl_ms\":60000,\"sequence\":7}"},
        {"import", 0, "{\"path\":\"/c\",\"data\":\"\",\"container\":true}"},
        {"cons", -1,
         " /127.0.0.1:57426[1](queued=0,recved=213,sent=214,sid=0x100000f0bc60000,lop=GETD,"
         "est=1794709447229,to=30000,lcxid=0xd4,lzxid=0xd0,lresp=1027690,llat=0,minlat=0)"},
        {"cons", -1, "zk_version\t3.8.0\nzk_server_state\tleader\nzk_znode_count\t14\n"},
        {"cons", -1, " /[0:0:0:0:0:0:0:1]:54654[0](queued=0,recved=1,sent=0)"},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        seed(all[i].target, all[i].choice, bytes_str(all[i].text));
    }
}

static void seed_tar(void)
{
    const struct exported nodes[] = {
        {.path = "/", .data = pawl_str("top"), .has_children = true, .sequence = 2},
        {.path = "/.data", .data = pawl_str("x"), .ttl_ms = 5},
        {.path = "/none", .is_ephemeral = true}};
    const struct tar_entry other[] = {
        {.name = "./", .is_folder = true},
        {.name =
             "a-name-that-is-too-long-for-a-header-so-that-it-stands-in-an-extended-one-before-it/"
             "where-it-is-called-path"}};
    char *text;
    size_t len;
    FILE *to = open_memstream(&text, &len);

    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        exported_tar(&nodes[i], to);
    }
    for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
        tar_write(to, &other[i]);
    }
    tar_write_end(to);
    fclose(to);
    seed("tar", 0, bytes_of(text, len));
    seed("tar", 1, bytes_of(text, 512));
    free(text);
}

#define DIGEST_MODULE "org.apache.zookeeper.server.auth.DigestLoginModule"

static void seed_sasl(void)
{
    seed("jaas", -1,
         bytes_str("/* of members, too */\nServer {\n    " DIGEST_MODULE " required\n"
                   "    user_super=\"a\\\"b\\101\"\n    user_bob=c; // him\n};\n"
                   "QuorumLearner { " DIGEST_MODULE
                   " required username=\"t\" password=\"u\"; };\n"));
    seed("jaas", -1,
         bytes_str("Server { com.sun.security.auth.module.Krb5LoginModule required "
                   "useKeyTab=true keyTab=\"/k\" principal=\"zookeeper/h@R\"; };"));
    seed("users", -1, bytes_str("# ours\nbob:his password\n\nalice:a:b\r\n"));
    seed("sasl", 0,
         bytes_str("charset=utf-8,username=\"bob\",realm=\"zk-sasl-md5\",nonce=\"OA6MG9tEQGm2hh\","
                   "nc=00000001,cnonce=\"OA6MHXh6VqTrRk\",digest-uri=\"zookeeper/zk-sasl-md5\","
                   "maxbuf=65536,response=d388dad90d4bbd760a152321f2143af7,qop=auth,"
                   "authzid=\"bob\""));
    seed("sasl", 1,
         bytes_str("realm=\"zk-sasl-md5\",nonce=\"OA6MG9tEQGm2hh\",qop=\"auth,auth-int\","
                   "cipher=\"rc4-40,des,3des\",maxbuf=4096,charset=utf-8,algorithm=md5-sess"));
    seed("member_auth", 0, bytes_of("\x5f\x24\x35\x01\x35\x01\xed\xcc\0\0\0\0\0\0\0\0", 16));
    seed("member_auth", 0,
         bytes_of("\x5f\x24\x35\x01\x35\x01\xed\xcc\0\0\0\0\0\0\0\0"
                  "\x5f\x24\x35\x01\x35\x01\xed\xcc\0\0\0\0\0\0\0\x0dusername=\"a\"",
                  45));
    seed("member_auth", 1,
         bytes_of("\x5f\x24\x35\x01\x35\x01\xed\xcc\0\0\0\1\0\0\0\x0crspauth=0123", 28));
    seed("sasl", 1, bytes_str("rspauth=ea40f60335c427b5527b84dbabcdfffd"));
}

int main(int argc, char **argv)
{
    char path[4096];

    if (argc != 4) {
        fprintf(stderr, "usage: %s VECTORS CONF OUT\n", argv[0]);
        return 1;
    }
    vectors = argv[1];
    out_folder = argv[3];
    make_folder(out_folder);
    seed("distinguished_name", -1, bytes_str("CN=Example\\, Inc.,OU=b+UID=c; C=DE"));
    seed("distinguished_name", -1, bytes_str("1.2.840.113549.1.9.1=#1603612e62,CN=\"a\\\"b\""));
    snprintf(path, sizeof(path), "%s/client.txt", vectors);
    vectors_client(path, seed_line, NULL);
    vectors_table(path, "path-check", seed_path, NULL);
    seed_admin();
    seed_console();
    snprintf(path, sizeof(path), "%s/quorum", vectors);
    each_file(path, seed_quorum_file);
    snprintf(path, sizeof(path), "%s/datadir", vectors);
    each_file(path, seed_data_folder);
    each_file(argv[2], seed_config);
    snprintf(path, sizeof(path), "%s/curator", vectors);
    each_file(path, seed_curator_file);
    seed_command_line();
    seed_tar();
    seed_sasl();
    printf("%d seeds in %s\n", n_written, out_folder);
    return 0;
}
