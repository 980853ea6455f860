/* SPDX-License-Identifier: Apache-2.0 */
/* Two filters that talk to each other through memory. */
#define _GNU_SOURCE
#include "tls/tls.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "lib/certificate.h"
#include "lib/test.h"
#include "pawl/error.h"
#include "tls/tls_internal.h"

/* ---- certificates ---- */

static struct certificate authority, server, client, stranger;

static int make_all(void **state)
{
    (void)state;
    certificate_make(&authority, NULL, "authority", NULL);
    certificate_make(&server, &authority, "server", "DNS:localhost,IP:127.0.0.1");
    certificate_make(&client, &authority, "client", "IP:10.0.0.1");
    certificate_make(&stranger, NULL, "stranger", NULL);
    return 0;
}

static int unmake_all(void **state)
{
    (void)state;
    certificate_unmake(&authority);
    certificate_unmake(&server);
    certificate_unmake(&client);
    certificate_unmake(&stranger);
    return 0;
}

/* ---- a pair ---- */

struct pair {
    struct tls *server, *client;
};

static struct tls *one(const struct tls_settings *settings, const char *name)
{
    struct tls_context *c;
    struct tls_fault fault;
    struct tls *t;

    if (tls_context_new(settings, &c, &fault) != PAWL_OK) {
        fail_msg("%s", fault.text);
    }
    t = tls_new(c, name);
    assert_non_null(t);
    tls_context_unref(c); /* the filter has its own */
    return t;
}

static void pair_init(struct pair *p, const char *name, const char *trust, const char *own,
                      const char *protocols)
{
    struct tls_settings s = {.is_server = true,
                             .key.path = server.path,
                             .trust.path = authority.path,
                             .client_certificate = TLS_CLIENT_WANTED};
    struct tls_settings c = {.key.path = own, .trust.path = trust, .protocols = protocols};

    p->server = one(&s, NULL);
    p->client = one(&c, name);
}

static void pair_fini(struct pair *p)
{
    tls_free(p->server);
    tls_free(p->client);
}

/* At most `chunk` bytes at a time. True: there were some. */
static bool carry(struct tls *from, struct tls *to, size_t chunk)
{
    struct bytes b = tls_output(from);
    size_t n = b.len < chunk ? b.len : chunk;

    assert_true(tls_put(to, b.data, n));
    tls_sent(from, n);
    return n > 0;
}

/* 1: both are done; -1: one has failed. */
static int shake(struct pair *p, size_t chunk)
{
    bool any = true;
    int a = 0, b = 0;

    while (any || a == 0 || b == 0) {
        a = tls_handshake(p->client);
        any = carry(p->client, p->server, chunk);
        b = tls_handshake(p->server);
        any = carry(p->server, p->client, chunk) || any;
        if ((a < 0 || b < 0) && !any) {
            return -1;
        }
    }
    return a > 0 && b > 0 ? 1 : -1;
}

/* ---- tests ---- */

static void bytes_go_both_ways(void **state)
{
    static const size_t chunks[] = {1, 7, 1 << 20};
    uint8_t out[100], in[100];
    struct pair p;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        pair_init(&p, "localhost", authority.path, client.path, i == 1 ? "TLSv1.2" : NULL);
        assert_int_equal(shake(&p, chunks[i]), 1);
        for (size_t n = 0; n < sizeof(out); n++) {
            out[n] = (uint8_t)(n * 7);
        }
        assert_int_equal(tls_read(p.server, in, sizeof(in)), 0);
        assert_true(tls_write(p.client, out, sizeof(out)));
        while (carry(p.client, p.server, chunks[i])) {
        }
        assert_int_equal(tls_read(p.server, in, 60), 60); /* the rest stays */
        assert_int_equal(tls_read(p.server, in + 60, sizeof(in) - 60), 40);
        assert_memory_equal(in, out, sizeof(out));
        assert_int_equal(tls_output(p.server).len, 0);
        pair_fini(&p);
    }
}

static void more_than_a_record(void **state)
{
    enum { LEN = 300000 };
    uint8_t *out = malloc(LEN), *in = malloc(LEN);
    struct pair p;

    (void)state;
    memset(out, 'x', LEN);
    pair_init(&p, "localhost", authority.path, NULL, NULL);
    assert_int_equal(shake(&p, 4096), 1);
    assert_null(tls_peer_subject(p.server));
    assert_true(tls_write(p.server, out, LEN));
    while (carry(p.server, p.client, 1 << 20)) {
    }
    assert_int_equal(tls_read(p.client, in, LEN), LEN);
    assert_memory_equal(in, out, LEN);
    free(in);
    free(out);
    pair_fini(&p);
}

static void a_goodbye_is_no_error(void **state)
{
    struct pair p;
    uint8_t in[10];

    (void)state;
    pair_init(&p, "localhost", authority.path, NULL, NULL);
    assert_int_equal(shake(&p, 4096), 1);
    assert_true(tls_write(p.client, "bye", 3));
    tls_finish(p.client);
    while (carry(p.client, p.server, 4096)) {
    }
    assert_int_equal(tls_read(p.server, in, sizeof(in)), 3);
    assert_int_equal(tls_read(p.server, in, sizeof(in)), -1);
    assert_string_equal(tls_error(p.server), "");
    pair_fini(&p);
}

/* Who says all that he has to say and goodbye at once still wants his answer. */
static void a_goodbye_can_be_answered(void **state)
{
    struct pair p;
    uint8_t in[10];

    (void)state;
    pair_init(&p, "localhost", authority.path, NULL, NULL);
    assert_int_equal(shake(&p, 4096), 1);
    assert_true(tls_write(p.client, "ruok", 4));
    SSL_shutdown(p.client->ssl); /* and reads on, which tls_finish() would not */
    while (carry(p.client, p.server, 4096)) {
    }
    assert_int_equal(tls_read(p.server, in, sizeof(in)), 4);
    assert_true(tls_write(p.server, "imok", 4));
    while (carry(p.server, p.client, 4096)) {
    }
    assert_int_equal(tls_read(p.client, in, sizeof(in)), 4);
    assert_memory_equal(in, "imok", 4);
    assert_int_equal(tls_read(p.server, in, sizeof(in)), -1);
    assert_string_equal(tls_error(p.server), "");
    pair_fini(&p);
}

/* A peer that makes us answer, and takes none of it. */
static void what_waits_is_bounded(void **state)
{
    enum { LEN = 5 << 20 };
    uint8_t *out = calloc(1, LEN), in[10];
    struct pair p;

    (void)state;
    pair_init(&p, "localhost", authority.path, NULL, NULL);
    assert_int_equal(shake(&p, 4096), 1);
    assert_true(tls_write(p.client, "a", 1));
    while (carry(p.client, p.server, 4096)) {
    }
    assert_true(tls_write(p.server, out, LEN / 2));
    assert_int_equal(tls_read(p.server, in, sizeof(in)), 1);
    assert_true(tls_write(p.server, out, LEN / 2));
    assert_int_equal(tls_read(p.server, in, sizeof(in)), -1);
    assert_non_null(strstr(tls_error(p.server), "makes us answer and reads nothing"));
    pair_fini(&p);
    free(out);
}

static void who_the_client_is(void **state)
{
    struct pair p;
    char *subject;

    (void)state;
    pair_init(&p, "127.0.0.1", authority.path, client.path, NULL);
    assert_int_equal(shake(&p, 4096), 1);
    subject = tls_peer_subject(p.server);
    assert_string_equal(subject, "CN=client,O=Pawl");
    assert_true(tls_peer_has_address(p.server, "10.0.0.1"));
    assert_false(tls_peer_has_address(p.server, "10.0.0.2"));
    free(subject);
    pair_fini(&p);
}

static void assert_fails(const char *name, const char *trust, const char *own, bool at_server,
                         const char *says)
{
    struct pair p;

    pair_init(&p, name, trust, own, NULL);
    assert_int_equal(shake(&p, 4096), -1);
    if (strstr(tls_error(at_server ? p.server : p.client), says) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", tls_error(at_server ? p.server : p.client), says);
    }
    pair_fini(&p);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_fails("example.org", authority.path, NULL, false,
                 "its certificate is for localhost, 127.0.0.1, not for example.org");
    assert_fails("10.1.1.1", authority.path, NULL, false, "not for 10.1.1.1");
    assert_fails(
        "localhost", stranger.path, NULL, false,
        "the certificate of CN=server,O=Pawl is signed by nobody that is trusted here: its "
        "issuer is CN=authority,O=Pawl, and trusted are those in /tmp/");
    assert_fails("localhost", authority.path, stranger.path, true,
                 "the certificate of CN=stranger,O=Pawl is signed by nobody");
}

/* Without one every certificate would do. */
static void a_client_needs_a_name(void **state)
{
    struct tls_settings settings = {.trust.path = authority.path};
    struct tls_context *c;
    struct tls_fault fault;

    (void)state;
    assert_int_equal(tls_context_new(&settings, &c, &fault), PAWL_OK);
    assert_null(tls_new(c, NULL));
    assert_null(tls_new(c, ""));
    tls_context_unref(c);
    settings.any_name = true;
    tls_free(one(&settings, NULL));
    tls_free(one(&settings, ""));
}

static void what_is_no_tls_is_refused(void **state)
{
    static const char *const texts[] = {"GET / HTTP/1.0\r\n\r\n", "ruokruok",
                                        "\x16\x03\x01\xff\xff....", "\x15\x03\x01\x00\x02\x02\x28"};
    struct pair p;

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        pair_init(&p, "localhost", authority.path, NULL, NULL);
        assert_true(tls_put(p.server, texts[i], i == 3 ? 7 : strlen(texts[i])));
        assert_int_equal(tls_handshake(p.server), -1);
        assert_string_not_equal(tls_error(p.server), "");
        assert_int_equal(tls_handshake(p.server), -1); /* and stays so */
        pair_fini(&p);
    }
}

/* Of a subject that has everything, as Java 17 prints it. */
static void subjects_as_java_prints_them(void **state)
{
    static const struct {
        const char *type, *value;
        int set; /* -1: with the one before it */
    } parts[] = {
        {"C", "DE", 0},        {"O", "Example, Inc.", 0},  {"OU", "a=b#c", 0},
        {"CN", " blanks ", 0}, {"UID", "u+v<w>;\"\\", -1}, {"emailAddress", "a@b.c", 0},
        {"CN", "\xc3\xa4", 0}, {"serialNumber", "7", 0},   {"DC", "org", 0},
    };
    X509_NAME *name = X509_NAME_new();
    struct strbuf text;

    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        X509_NAME_add_entry_by_txt(name, parts[i].type, MBSTRING_UTF8,
                                   (const unsigned char *)parts[i].value, -1, -1, parts[i].set);
    }
    strbuf_init(&text, STRBUF_NO_LIMIT);
    tls_name_print(name, &text);
    assert_string_equal(strbuf_cstr(&text),
                        "DC=org,2.5.4.5=#130137,CN=\xc3\xa4,1.2.840.113549.1.9.1=#1605614062"
                        "2e63,CN=\\ blanks\\ +UID=u\\+v\\<w\\>\\;\\\"\\\\,OU=a\\=b\\#c,"
                        "O=Example\\, Inc.,C=DE");
    strbuf_fini(&text);
    X509_NAME_free(name);
}

static void settings_that_cannot_be(void **state)
{
    static const struct {
        struct tls_settings settings;
        enum tls_part part;
    } cases[] = {
        {{.is_server = true}, TLS_PART_KEY},
        {{.protocols = "TLSv1.1"}, TLS_PART_PROTOCOLS},
        {{.protocols = " , "}, TLS_PART_PROTOCOLS},
        {{.ciphers = "HIGH"}, TLS_PART_CIPHERS},
        {{.ciphers = "TLS_AES_128_GCM_SHA256", .protocols = "TLSv1.2"}, TLS_PART_CIPHERS},
        {{.trust.path = "/dev/null"}, TLS_PART_TRUST},
        {{.trust.path = "/"}, TLS_PART_TRUST},
        {{.key.path = "/no/such"}, TLS_PART_KEY},
        {{.key_path = "/no/such"}, TLS_PART_KEY},
        {{.trust = {.path = "/dev/null", .type = "BCFKS"}}, TLS_PART_TRUST_TYPE},
        {{.trust = {.path = "/dev/null", .password_path = "/no"}}, TLS_PART_TRUST_PASSWORD},
    };
    struct tls_context *c;
    struct tls_fault fault;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fault = (struct tls_fault){0};
        assert_int_equal(tls_context_new(&cases[i].settings, &c, &fault), PAWL_ERR_BAD_ARGUMENTS);
        assert_int_equal(fault.part, cases[i].part);
        assert_string_not_equal(fault.text, "");
    }
}

/* ---- keys in memory ---- */

static bool is_watched; /* what is given back, by whatever is linked in statically */
static int n_given_back;

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __real_free(void *p);
void __wrap_free(void *p);

static void look_into(void *p)
{
    if (is_watched && p != NULL && memmem(p, malloc_usable_size(p), "PRIVATE KEY", 11) != NULL) {
        n_given_back++;
    }
}

void *__wrap_realloc(void *p, size_t size)
{
    look_into(p);
    return __real_realloc(p, size);
}

void __wrap_free(void *p)
{
    look_into(p);
    __real_free(p);
}

static void keys_are_wiped_from_memory(void **state)
{
    struct tls_settings s = {.is_server = true, .client_certificate = TLS_CLIENT_NONE};
    char path[] = "/tmp/pawl-test-tls-XXXXXX", *text = calloc(1, 1 << 15);
    FILE *in = fopen(server.path, "r"), *out = fdopen(mkstemp(path), "w");
    struct tls_context *c;
    struct tls_fault fault;

    (void)state;
    fwrite(text, 1, fread(text, 1, 1 << 15, in), out);
    memset(text, '\n', 1 << 15);
    fwrite(text, 1, 1 << 15, out); /* what follows makes the buffer grow */
    fclose(in);
    fclose(out);
    free(text);
    s.key.path = path;
    is_watched = true;
    assert_int_equal(tls_context_new(&s, &c, &fault), PAWL_OK);
    is_watched = false;
    assert_int_equal(n_given_back, 0);
    tls_context_unref(c);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_both_ways),
        cmocka_unit_test(more_than_a_record),
        cmocka_unit_test(a_goodbye_is_no_error),
        cmocka_unit_test(who_the_client_is),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(what_is_no_tls_is_refused),
        cmocka_unit_test(subjects_as_java_prints_them),
        cmocka_unit_test(settings_that_cannot_be),
        cmocka_unit_test(a_client_needs_a_name),
        cmocka_unit_test(a_goodbye_can_be_answered),
        cmocka_unit_test(what_waits_is_bounded),
        cmocka_unit_test(keys_are_wiped_from_memory),
    };

    return cmocka_run_group_tests(tests, make_all, unmake_all);
}
