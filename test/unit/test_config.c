/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.c - zoo.cfg and -D into struct config.
 *
 * The outcomes of `known_outcomes` are those of Apache ZooKeeper 3.8.0, recorded in
 * test/vectors/4lw/tools/config-errors.txt under the same names. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, open_memstream */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/logging.h"
#include "base/memory.h"
#include "daemon/config_internal.h"
#include "pawl/error.h"

/* One folder per test: zoo.cfg, the dynamic file, and data/myid. */
struct fixture {
    char dir[64];
    char file[96];
    char dynamic[96];
    char data[96];
    char my_id[128];
    struct config config;
    struct config_lines errors;
};

static int setup(void **state)
{
    struct fixture *f = must_zalloc(sizeof(*f));

    snprintf(f->dir, sizeof(f->dir), "/tmp/pawl-test-config-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->file, sizeof(f->file), "%s/zoo.cfg", f->dir);
    snprintf(f->dynamic, sizeof(f->dynamic), "%s/zoo.cfg.dynamic", f->dir);
    snprintf(f->data, sizeof(f->data), "%s", f->dir);
    snprintf(f->my_id, sizeof(f->my_id), "%s/myid", f->data);
    config_init(&f->config);
    config_lines_init(&f->errors);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    unlink(f->file);
    unlink(f->dynamic);
    unlink(f->my_id);
    rmdir(f->dir);
    config_fini(&f->config);
    config_lines_fini(&f->errors);
    free(f);
    return 0;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static void start_over(struct fixture *f)
{
    config_fini(&f->config);
    config_lines_fini(&f->errors);
    config_init(&f->config);
    config_lines_init(&f->errors);
}

/* Reads `text` as the file and finishes. */
static int load(struct fixture *f, const char *text)
{
    int rc, finished;

    start_over(f);
    write_file(f->file, text);
    rc = config_read_file(&f->config, f->file, &f->errors);
    finished = config_finish(&f->config, &f->errors);
    rc = rc != 0 ? rc : finished;
    assert_int_equal(rc != 0, f->errors.n > 0);
    return rc;
}

static bool says(const struct config_lines *lines, const char *text)
{
    for (size_t i = 0; i < lines->n; i++) {
        if (strstr(lines->line[i], text) != NULL) {
            return true;
        }
    }
    return false;
}

static void assert_says(const struct config_lines *lines, const char *text)
{
    if (says(lines, text)) {
        return;
    }
    for (size_t i = 0; i < lines->n; i++) {
        print_error("  %s\n", lines->line[i]);
    }
    fail_msg("no line says: %s", text);
}

/* --- syntax --- */

static void broken_escapes_are_faults_with_their_line(void **state)
{
    static const char *const cases[] = {"a=b\n\nc=\\u12", "a=b\n\nc=\\u12g4", "a=b\n\nc\\u=1",
                                        "a=b\n\nc=\\u0000"};
    struct fixture *f = *state;
    char place[128];

    snprintf(place, sizeof(place), "%s:3: ", f->file);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(load(f, cases[i]), PAWL_ERR_CONFIG);
        assert_says(&f->errors, place);
    }
}

static void missing_and_huge_files_are_faults(void **state)
{
    struct fixture *f = *state;
    char *huge = must_alloc(2 * 1024 * 1024 + 1);

    assert_int_equal(config_read_file(&f->config, f->file, &f->errors), PAWL_ERR_CONFIG);
    assert_says(&f->errors, "zoo.cfg: cannot be read: No such file or directory");
    start_over(f);
    assert_int_equal(config_read_file(&f->config, f->dir, &f->errors), PAWL_ERR_CONFIG);
    assert_says(&f->errors, "cannot be read: Is a directory");

    memset(huge, '#', 2 * 1024 * 1024);
    huge[2 * 1024 * 1024] = '\0';
    assert_int_equal(load(f, huge), PAWL_ERR_CONFIG);
    assert_says(&f->errors, "zoo.cfg: cannot be read: File too large");
    for (size_t i = 0; i < 5000; i++) {
        memcpy(huge + 4 * i, "a=b\n", 5);
    }
    assert_int_equal(load(f, huge), PAWL_ERR_CONFIG);
    assert_says(&f->errors, "has more than 4096 keys");
    free(huge);
}

/* --- defaults and values --- */

static void an_almost_empty_file_gives_apaches_defaults(void **state)
{
    struct fixture *f = *state;
    const struct config *c = &f->config;

    assert_int_equal(load(f, "dataDir=/d\nclientPort=2181\n"), 0);
    assert_int_equal(c->warnings.n, 0);
    assert_string_equal(c->store.data_dir, "/d");
    assert_string_equal(c->store.log_dir, "/d");
    assert_int_equal(c->net.client_port, 2181);
    assert_null(c->net.client_address);
    assert_int_equal(c->net.secure_port, -1);
    assert_int_equal(c->server.tick_ms, 3000);
    assert_int_equal(c->server.min_session_timeout_ms, 6000);
    assert_int_equal(c->server.max_session_timeout_ms, 60000);
    assert_int_equal(c->net.max_per_address, 60);
    assert_int_equal(c->store.snap_count, 100000);
    assert_int_equal(c->store.preallocate_bytes, 64 * 1024 * 1024);
    assert_int_equal(c->store.snap_size_limit_bytes, 4294967296);
    assert_true(c->store.force_sync);
    assert_false(c->server.skip_acl);
    assert_int_equal(c->server.max_packet_bytes, 0xfffff);
    assert_int_equal(c->server.max_packet_extra_bytes, 0xfffff);
    assert_string_equal(c->server.four_letter_words, "srvr");
    assert_int_equal(c->log.level, LOG_INFO);
    assert_int_equal(c->log.format, CONFIG_LOG_TEXT);
    assert_false(config_is_ensemble(c));
}

static void derived_defaults_follow_what_they_derive_from(void **state)
{
    struct fixture *f = *state;
    const struct config *c = &f->config;

    assert_int_equal(load(f, "dataDir=/d\ntickTime=500\njute.maxbuffer=0x200000\n"
                             "readonlymode.enabled=true\nclientPort=0\n"),
                     0);
    assert_int_equal(c->server.min_session_timeout_ms, 1000);
    assert_int_equal(c->server.max_session_timeout_ms, 10000);
    assert_int_equal(c->server.max_packet_extra_bytes, 0x200000);
    assert_string_equal(c->server.four_letter_words, "srvr,isro");
    assert_int_equal(c->net.client_port, 0);

    assert_int_equal(load(f, "dataDir=/d\nminSessionTimeout=-1\ntickTime=2147483647\n"
                             "jute.maxbuffer=100\n"),
                     0);
    assert_int_equal(c->server.min_session_timeout_ms, INT32_MAX);
    assert_int_equal(c->server.max_packet_extra_bytes, 1024);
}

union expected {
    int64_t number;
    double ratio;
    const char *text;
};

struct value_case {
    const char *name;
    const char *text;
    enum config_field field;
    size_t offset;
    union expected expected;
};

#define NUMBER(name, text, kind, member, value)                           \
    {                                                                     \
        name, text, CONFIG_FIELD_##kind, offsetof(struct config, member), \
        {                                                                 \
            .number = (value)                                             \
        }                                                                 \
    }
#define INT(name, text, member, value)     NUMBER(name, text, INT, member, value)
#define INT64(name, text, member, value)   NUMBER(name, text, INT64, member, value)
#define BOOLEAN(name, text, member, value) NUMBER(name, text, BOOL, member, value)
#define RATIO(name, text_, member, value)                                  \
    {                                                                      \
        name, text_, CONFIG_FIELD_DOUBLE, offsetof(struct config, member), \
        {                                                                  \
            .ratio = (value)                                               \
        }                                                                  \
    }
#define STRING(name, text_, member, value)                                 \
    {                                                                      \
        name, text_, CONFIG_FIELD_STRING, offsetof(struct config, member), \
        {                                                                  \
            .text = (value)                                                \
        }                                                                  \
    }

/* Every key that has a field, at a value that is not its default. */
static const struct value_case value_cases[] = {
    STRING("dataDir", "/a/b", store.data_dir, "/a/b"),
    STRING("dataLogDir", "/a/c", store.log_dir, "/a/c"),
    INT("clientPort", "2182", net.client_port, 2182),
    STRING("clientPortAddress", "[::1]", net.client_address, "::1"),
    STRING("clientUnixSocket", "/run/s", net.unix_socket, "/run/s"),
    INT("connectToLearnerMasterLimit", "7", ensemble.connect_limit, 7),
    INT64("cnxTimeout", "1000", ensemble.election_connect_ms, 1000),
    BOOLEAN("tcpKeepAlive", "true", ensemble.tcp_keepalive, true),
    INT64("fastleader.minNotificationInterval", "50", ensemble.min_notification_ms, 50),
    INT64("fastleader.maxNotificationInterval", "900", ensemble.max_notification_ms, 900),
    INT64("tickTime", "2000", server.tick_ms, 2000),
    INT("initLimit", "10", ensemble.init_limit, 10),
    INT("syncLimit", "+5", ensemble.sync_limit, 5),
    INT64("minSessionTimeout", "100", server.min_session_timeout_ms, 100),
    INT64("maxSessionTimeout", "100000", server.max_session_timeout_ms, 100000),
    INT("maxClientCnxns", "0", net.max_per_address, 0),
    INT("autopurge.snapRetainCount", "7", store.purge_keep, 7),
    INT64("autopurge.purgeInterval", "24", store.purge_interval_ms, 86400000),
    INT64("autopurge.purgeInterval", "90m", store.purge_interval_ms, 5400000),
    INT64("autopurge.purgeInterval", "1500ms", store.purge_interval_ms, 1500),
    INT64("autopurge.purgeInterval", "2d", store.purge_interval_ms, 172800000),
    INT64("scrub.interval", "24", store.scrub_interval_ms, 86400000),
    INT64("scrub.interval", "100ms", store.scrub_interval_ms, 100),
    INT("scrub.bytesPerSecond", "65536", store.scrub_bytes_per_second, 65536),
    INT("snapCount", "5000", store.snap_count, 5000),
    BOOLEAN("forceSync", "no", store.force_sync, false),
    INT("jute.maxbuffer", "0x400000", server.max_packet_bytes, 4194304),
    STRING("4lw.commands.whitelist", "ruok , conf", server.four_letter_words, "ruok , conf"),
    BOOLEAN("extendedTypesEnabled", "TRUE", server.extended_types, true),
    BOOLEAN("datadir.autocreate", "false", store.autocreate, false),
    BOOLEAN("enforceQuota", "true", server.enforce_quota, true),
    BOOLEAN("digest.enabled", "false", store.digest, false),
    INT("log.level", "debug", log.level, LOG_DEBUG),
    INT("log.level", "error", log.level, LOG_ERROR),
    INT("log.level", "WARN", log.level, LOG_WARN),
    INT("log.format", "json", log.format, CONFIG_LOG_JSON),
    INT("maxCnxns", "10", net.max_connections, 10),
    INT("clientPortListenBacklog", "128", net.backlog, 128),
    INT64("snapSizeLimitInKb", "-1", store.snap_size_limit_bytes, -1024),
    INT64("preAllocSize", "64", store.preallocate_bytes, 65536),
    INT64("txnLogSizeLimitInKb", "4194304", store.txnlog_size_limit_bytes, 4294967296),
    INT64("fsync.warningthresholdms", "20", store.fsync_warning_ms, 20),
    INT("globalOutstandingLimit", "010", server.global_outstanding_limit, 8),
    INT("jute.maxbuffer.extrasize", "2048", server.max_packet_extra_bytes, 2048),
    BOOLEAN("emulate353TTLNodes", "true", server.ttl_as_in_353, true),
    BOOLEAN("snapshot.trust.empty", "true", store.trust_empty_snapshot, true),
    BOOLEAN("recovery.acceptLoss", "true", store.accept_loss, true),
    INT("snapshot.compression.method", "gz", store.snapshot_compression, CONFIG_COMPRESS_GZIP),
    INT("snapshot.compression.method", "snappy", store.snapshot_compression,
        CONFIG_COMPRESS_SNAPPY),
    INT64("nio.sessionlessCnxnTimeout", "500", net.sessionless_ms, 500),
    INT("connection_throttle_tokens", "11", connection_throttle.tokens, 11),
    INT64("connection_throttle_fill_time", "12", connection_throttle.fill_time_ms, 12),
    INT("connection_throttle_fill_count", "13", connection_throttle.fill_count, 13),
    INT64("connection_throttle_freeze_time", "14", connection_throttle.freeze_time_ms, 14),
    RATIO("connection_throttle_drop_increase", "0.5", connection_throttle.drop_increase, 0.5),
    RATIO("connection_throttle_drop_decrease", "0.25", connection_throttle.drop_decrease, 0.25),
    RATIO("connection_throttle_decrease_ratio", "1", connection_throttle.decrease_ratio, 1),
    BOOLEAN("connection_throttle_weight_enabled", "true", connection_throttle.weighted, true),
    INT("connection_throttle_global_session_weight", "5", connection_throttle.global_session_weight,
        5),
    INT("connection_throttle_local_session_weight", "6", connection_throttle.local_session_weight,
        6),
    INT("connection_throttle_renew_session_weight", "7", connection_throttle.renew_session_weight,
        7),
    INT("request_throttle_max_requests", "8", request_throttle.max_requests, 8),
    INT64("throttled_op_wait_time", "77", server.throttled_op_wait_ms, 77),
    INT64("largeRequestMaxBytes", "1000", server.large_request_max_bytes, 1000),
    INT64("largeRequestThreshold", "1001", server.large_request_threshold_bytes, 1001),
    INT64("missedEventsInKb", "12", server.missed_events_bytes, 12288),
    INT64("znode.container.checkIntervalMs", "100", server.container_check_interval_ms, 100),
    INT("znode.container.maxPerMinute", "60", server.container_max_per_minute, 60),
    INT64("znode.container.maxNeverUsedIntervalMs", "300000", server.container_max_never_used_ms,
          300000),
    BOOLEAN("closeSessionTxn.enabled", "false", server.close_session_txn, false),
    BOOLEAN("clientTcpKeepAlive", "true", net.tcp_keepalive, true),
    STRING("dynamicConfigFile", "/a/dyn", ensemble.dynamic_file, "/a/dyn"),
    BOOLEAN("peerType", "Observer", ensemble.observer, true),
    BOOLEAN("standaloneEnabled", "false", ensemble.standalone_enabled, false),
    BOOLEAN("reconfigEnabled", "true", ensemble.reconfig_enabled, true),
    BOOLEAN("db.autocreate", "false", ensemble.db_autocreate, false),
    BOOLEAN("multiAddress.enabled", "true", ensemble.multi_address, true),
    BOOLEAN("readonlymode.enabled", "true", server.read_only_mode, true),
    BOOLEAN("leaderServes", "no", ensemble.leader_serves, false),
    BOOLEAN("quorumListenOnAllIPs", "true", ensemble.listen_on_all, true),
    INT("electionPortBindRetry", "0", ensemble.election_bind_attempts, 0),
    BOOLEAN("forceSnapshotSync", "true", ensemble.always_snapshot, true),
    INT64("observer.reconnectDelayMs", "30", ensemble.observer_pause_ms, 30),
    BOOLEAN("localSessionsEnabled", "true", ensemble.local_sessions, true),
    BOOLEAN("localSessionsUpgradingEnabled", "true", ensemble.upgrade_sessions, true),
    BOOLEAN("skipACL", "yes", server.skip_acl, true),
    STRING("DigestAuthenticationProvider.superDigest", "super:xyz=", security.super_digest,
           "super:xyz="),
    BOOLEAN("DigestAuthenticationProvider.enabled", "false", security.digest_enabled, false),
    STRING("DigestAuthenticationProvider.digestAlg", "SHA-256", security.digest_algorithm,
           "SHA-256"),
    BOOLEAN("enforce.auth.enabled", "true", security.enforce_auth, true),
    STRING("enforce.auth.schemes", "digest,ip", security.enforce_auth_schemes, "digest,ip"),
    BOOLEAN("admin.enableServer", "true", admin.enabled, true),
    STRING("admin.serverAddress", "10.0.0.1", admin.address, "10.0.0.1"),
    INT("admin.serverPort", "8081", admin.port, 8081),
    INT64("admin.idleTimeout", "500", admin.idle_ms, 500),
    STRING("admin.commandURL", "/zk/commands", admin.command_url, "/zk/commands"),
    BOOLEAN("admin.console", "false", admin.console, false),
    STRING("admin.consoleServers", "a:2181,b:2181", admin.console_servers, "a:2181,b:2181"),
    INT64("admin.rateLimiterIntervalInMS", "5", admin.rate_limit_ms, 5),
    BOOLEAN("admin.snapshot.enabled", "false", admin.snapshot_enabled, false),
    BOOLEAN("admin.restore.enabled", "false", admin.restore_enabled, false),
    STRING("metricsProvider.className", "x.NullMetricsProvider", metrics.provider,
           "x.NullMetricsProvider"),
    STRING("metricsProvider.httpHost", "10.0.0.2", metrics.address, "10.0.0.2"),
    INT("metricsProvider.httpPort", "7001", metrics.port, 7001),
    INT("secureClientPort", "2281", net.secure_port, 2281),
    STRING("secureClientPortAddress", "10.0.0.1", net.secure_address, "10.0.0.1"),
    STRING("java.security.auth.login.config", "/j", sasl.jaas_path, "/j"),
    STRING("sasl.userFile", "/u", sasl.users_path, "/u"),
    BOOLEAN("sasl.reload", "false", sasl.reload, false),
    STRING("sasl.serverconfig", "S", sasl.section, "S"),
    STRING("superUser", "bob", sasl.super_user, "bob"),
    BOOLEAN("quorum.auth.enableSasl", "true", member_sasl.enabled, true),
    BOOLEAN("quorum.auth.learnerRequireSasl", "true", member_sasl.dials, true),
    BOOLEAN("quorum.auth.serverRequireSasl", "true", member_sasl.required, true),
    STRING("quorum.auth.learner.saslLoginContext", "L", member_sasl.learner_section, "L"),
    STRING("quorum.auth.server.saslLoginContext", "S", member_sasl.server_section, "S"),
    STRING("quorum.auth.loginFile", "/l", member_sasl.login_path, "/l"),
    STRING("SASLAuthenticationProvider.superPassword", "p", sasl.super_password, "p"),
    BOOLEAN("sessionRequireClientSASLAuth", "true", sasl.required, true),
    BOOLEAN("allowSaslFailedClients", "true", sasl.keep_failed, true),
    STRING("letAnySaslUserDoX", "any", sasl.any, "any"),
    BOOLEAN("kerberos.removeHostFromPrincipal", "true", sasl.remove_host, true),
    BOOLEAN("kerberos.removeRealmFromPrincipal", "true", sasl.remove_realm, true),
    BOOLEAN("client.portUnification", "true", tls.unified, true),
    BOOLEAN("client.certReload", "false", tls.reload, false),
    INT("netty.server.outstandingHandshake.limit", "7", max_handshakes, 7),
    INT64("ssl.handshakeDetectionTimeoutMillis", "700", tls.detect_ms, 700),
    STRING("ssl.keyStore.location", "/k", tls.key_path, "/k"),
    STRING("ssl.keyStore.password", "p", tls.key_password, "p"),
    STRING("ssl.keyStore.passwordPath", "/p", tls.key_password_path, "/p"),
    STRING("ssl.keyStore.type", "PEM", tls.key_type, "PEM"),
    STRING("ssl.trustStore.location", "/t", tls.trust_path, "/t"),
    STRING("ssl.trustStore.password", "q", tls.trust_password, "q"),
    STRING("ssl.trustStore.passwordPath", "/q", tls.trust_password_path, "/q"),
    STRING("ssl.trustStore.type", "PKCS12", tls.trust_type, "PKCS12"),
    STRING("ssl.protocol", "TLSv1.2", tls.protocol, "TLSv1.2"),
    STRING("ssl.enabledProtocols", "TLSv1.3", tls.protocols, "TLSv1.3"),
    STRING("ssl.ciphersuites", "TLS_AES_128_GCM_SHA256", tls.ciphers, "TLS_AES_128_GCM_SHA256"),
    INT("ssl.clientAuth", "none", tls.client_certificate, 2),
    BOOLEAN("ssl.clientHostnameVerification", "true", tls.check_client_address, true),
    BOOLEAN("ssl.allowReverseDnsLookup", "true", tls.reverse_lookup, true),
    BOOLEAN("ssl.crl", "true", tls.crl, true),
    BOOLEAN("ssl.ocsp", "true", tls.ocsp, true),
    STRING("ssl.crl.location", "/c", tls.crl_path, "/c"),
    STRING("ssl.quorum.keyStore.location", "/k", member_tls.key_path, "/k"),
    STRING("ssl.quorum.keyStore.password", "p", member_tls.key_password, "p"),
    STRING("ssl.quorum.keyStore.passwordPath", "/p", member_tls.key_password_path, "/p"),
    STRING("ssl.quorum.keyStore.type", "PEM", member_tls.key_type, "PEM"),
    STRING("ssl.quorum.trustStore.location", "/t", member_tls.trust_path, "/t"),
    STRING("ssl.quorum.trustStore.password", "q", member_tls.trust_password, "q"),
    STRING("ssl.quorum.trustStore.passwordPath", "/q", member_tls.trust_password_path, "/q"),
    STRING("ssl.quorum.trustStore.type", "PKCS12", member_tls.trust_type, "PKCS12"),
    STRING("ssl.quorum.protocol", "TLSv1.2", member_tls.protocol, "TLSv1.2"),
    STRING("ssl.quorum.enabledProtocols", "TLSv1.3", member_tls.protocols, "TLSv1.3"),
    STRING("ssl.quorum.ciphersuites", "TLS_AES_128_GCM_SHA256", member_tls.ciphers,
           "TLS_AES_128_GCM_SHA256"),
    INT("ssl.quorum.clientAuth", "none", member_tls.client_certificate, 2),
    BOOLEAN("ssl.quorum.clientHostnameVerification", "false", member_tls.check_client_address,
            false),
    BOOLEAN("ssl.quorum.allowReverseDnsLookup", "true", member_tls.reverse_lookup, true),
    BOOLEAN("ssl.quorum.crl", "true", member_tls.crl, true),
    BOOLEAN("ssl.quorum.ocsp", "true", member_tls.ocsp, true),
    STRING("ssl.quorum.crl.location", "/c", member_tls.crl_path, "/c"),
    BOOLEAN("ssl.quorum.hostnameVerification", "false", member_tls.check_names, false),
    BOOLEAN("sslQuorum", "true", member_tls_wanted, true),
    BOOLEAN("portUnification", "true", member_tls.unified, true),
    BOOLEAN("sslQuorumReloadCertFiles", "false", member_tls.reload, false),
    BOOLEAN("audit.enable", "true", audit.enabled, true),
    STRING("audit.file", "/a", audit.path, "/a"),
    BOOLEAN("core.dumps", "true", core_dumps, true),
    BOOLEAN("fips-mode", "true", fips, true),
    STRING("ssl.authProvider", "x", tls_scheme, "x"),
    STRING("X509AuthenticationProvider.superUser", "CN=a", tls_super_user, "CN=a"),
};
enum { N_VALUE_CASES = sizeof(value_cases) / sizeof(value_cases[0]) };

static void assert_field(const struct config *c, const struct value_case *v)
{
    const void *field = (const char *)c + v->offset;

    switch (v->field) {
    case CONFIG_FIELD_BOOL:
        assert_int_equal(*(const bool *)field, v->expected.number);
        break;
    case CONFIG_FIELD_INT:
        assert_int_equal(*(const int *)field, v->expected.number);
        break;
    case CONFIG_FIELD_INT64:
        assert_int_equal(*(const int64_t *)field, v->expected.number);
        break;
    case CONFIG_FIELD_DOUBLE:
        assert_true(*(const double *)field == v->expected.ratio);
        break;
    default:
        assert_non_null(*(char *const *)field);
        assert_string_equal(*(char *const *)field, v->expected.text);
        break;
    }
}

static void every_field_receives_its_key_from_the_file(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < N_VALUE_CASES; i++) {
        const struct value_case *v = &value_cases[i];
        char text[256];

        start_over(f);
        snprintf(text, sizeof(text), "\n %s = %s \n", v->name, v->text);
        write_file(f->file, text);
        assert_int_equal(config_read_file(&f->config, f->file, &f->errors), 0);
        assert_field(&f->config, v);
        assert_true(config_is_given(&f->config, v->name));
        assert_non_null(config_text(&f->config, v->name));
    }
}

static void every_field_receives_its_key_from_the_command_line(void **state)
{
    static const char *const forms[] = {"%s=%s", "zookeeper.%s=%s"};
    struct fixture *f = *state;

    for (size_t i = 0; i < N_VALUE_CASES; i++) {
        for (size_t j = 0; j < 2; j++) {
            char text[256];

            start_over(f);
            snprintf(text, sizeof(text), forms[j], value_cases[i].name, value_cases[i].text);
            assert_int_equal(config_set_property(&f->config, text, &f->errors), 0);
            assert_field(&f->config, &value_cases[i]);
        }
    }
}

static void no_key_with_a_field_is_missing_from_the_table_above(void **state)
{
    (void)state;
    for (size_t i = 0; i < config_n_keys; i++) {
        const struct config_key *k = &config_keys[i];
        bool found = k->field == CONFIG_FIELD_NONE;

        for (size_t j = 0; j < N_VALUE_CASES; j++) {
            found =
                found || (strcmp(value_cases[j].name, k->name) == 0 &&
                          value_cases[j].offset == k->offset && value_cases[j].field == k->field);
        }
        if (!found) {
            fail_msg("%s is not tested", k->name);
        }
    }
}

static void core_keys_all_have_a_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < config_n_keys; i++) {
        const struct config_key *k = &config_keys[i];

        if (k->class == CONFIG_CLASS_CORE) {
            assert_int_not_equal(k->field, CONFIG_FIELD_NONE);
        }
    }
}

static void names_are_unique_and_aliases_lead_somewhere(void **state)
{
    const char *rest;

    (void)state;
    for (size_t i = 0; i < config_n_keys; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(config_keys[i].name, config_keys[j].name);
        }
    }
    for (size_t i = 0; i < config_n_aliases; i++) {
        const struct config_key *k = config_key_find(config_aliases[i].name, &rest);

        assert_non_null(k);
        assert_string_equal(k->name, config_aliases[i].key);
    }
}

/* --- bad values --- */

/* What no key of this type takes; NULL when everything is allowed. */
static const char *bad_value(const struct config_key *k)
{
    switch (k->type) {
    case CONFIG_TYPE_TEXT:
    case CONFIG_TYPE_SECRET:
        return NULL;
    case CONFIG_TYPE_PATH:
    case CONFIG_TYPE_HOST:
        return "";
    default:
        return "maybe";
    }
}

static void a_bad_value_of_any_known_key_is_refused_with_its_line(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < config_n_keys; i++) {
        const struct config_key *k = &config_keys[i];
        char text[256], expected[256];

        if (bad_value(k) == NULL || k->class == CONFIG_CLASS_JVM_ONLY || k->family) {
            continue;
        }
        start_over(f);
        snprintf(text, sizeof(text), "# comment\n\n%s=%s\n", k->name, bad_value(k));
        snprintf(expected, sizeof(expected), "%s:3: %s: \"%s\" is", f->file, k->name, bad_value(k));
        write_file(f->file, text);
        assert_int_equal(config_read_file(&f->config, f->file, &f->errors), PAWL_ERR_CONFIG);
        assert_int_equal(f->errors.n, 1);
        assert_says(&f->errors, expected);
        assert_says(&f->errors, "; allowed is ");
    }
}

static void bad_values_are_described(void **state)
{
    static const char *const cases[][2] = {
        {"tickTime=abc", "tickTime: \"abc\" is not a whole number; allowed is a whole number from "
                         "1 to 2147483647 (milliseconds)"},
        {"tickTime=0", "tickTime: \"0\" is out of range"},
        {"tickTime=-5", "tickTime: \"-5\" is out of range"},
        {"tickTime=2 000", "tickTime: \"2 000\" is not a whole number"},
        {"tickTime=0x10", "tickTime: \"0x10\" is not a whole number"},
        {"tickTime=99999999999999999999", "tickTime: \"99999999999999999999\" is not a whole"},
        {"tickTime=2147483648", "tickTime: \"2147483648\" is out of range"},
        {"tickTime=", "tickTime: \"\" is not a whole number"},
        {"snapCount=09", "snapCount: \"09\" is not a whole number"},
        {"clientPort=65536", "clientPort: \"65536\" is out of range; allowed is a whole number "
                             "from 0 to 65535"},
        {"clientPort=-1", "clientPort: \"-1\" is out of range"},
        {"forceSync=false", "forceSync: \"false\" is neither yes nor no; allowed is yes or no"},
        {"forceSync=NO", "forceSync: \"NO\" is neither yes nor no"},
        {"enforceQuota=yes", "enforceQuota: \"yes\" is neither true nor false; allowed is true or "
                             "false"},
        {"snapshotSizeFactor=1.5", "\"1.5\" is out of range; allowed is a number of at most 1"},
        {"snapshotSizeFactor=nan", "\"nan\" is not a number"},
        {"connection_throttle_drop_increase=2", "allowed is a number from 0 to 1"},
        {"snapshot.compression.method=zip", "allowed is nothing, gz or snappy"},
        {"log.level=loud", "allowed is error, warn, info or debug"},
        {"clientPortAddress=a b", "\"a b\" is no address; allowed is a host name, an IPv4"},
        {"intBufferStartingSizeBytes=31", "\"31\" is out of range; allowed is a whole number from "
                                          "32 to 2147483647 (bytes)"},
        {"autopurge.purgeInterval=3w", "\"3w\" is not a whole number; allowed is a whole number "
                                       "(hours, or with ms, s, m, h or d behind it)"},
        {"electionAlg=1", "electionAlg: \"1\" is out of range; allowed is 3"},
        {"zookeeper.snapCount=x", "snapCount: \"x\" is not a whole number"},
        {"connectionMaxTokens=x", "connection_throttle_tokens: \"x\" is not a whole number"},
        {"DigestAuthenticationProvider.superDigest=hush", "is not of the form super:DIGEST"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];

        snprintf(text, sizeof(text), "dataDir=/d\n%s\n", cases[i][0]);
        assert_int_equal(load(f, text), PAWL_ERR_CONFIG);
        assert_int_equal(f->errors.n, 1);
        assert_says(&f->errors, "zoo.cfg:2: ");
        assert_says(&f->errors, cases[i][1]);
        assert_false(says(&f->errors, "hush"));
    }
}

static void all_faults_are_reported_at_once(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(load(f, "tickTime=x\nsnapCount=y\nclientPortAddress=::1\n"), PAWL_ERR_CONFIG);
    assert_int_equal(f->errors.n, 4);
    assert_says(&f->errors, ":1: tickTime: ");
    assert_says(&f->errors, ":2: snapCount: ");
    assert_says(&f->errors, ":3: clientPortAddress: ");
    assert_says(&f->errors, "zoo.cfg: dataDir: dataDir is not set");
}

static void a_refused_value_is_not_also_called_missing(void **state)
{
    struct fixture *f = *state;

    write_file(f->my_id, "1");
    assert_int_equal(load(f, "dataDir=\nclientPort=x\nclientPortAddress=::1\n"), PAWL_ERR_CONFIG);
    assert_int_equal(f->errors.n, 2);
    assert_int_equal(f->config.warnings.n, 0);
    assert_int_equal(load(f, "dataDir=/d\nclientPort=1\ninitLimit=x\nsyncLimit=y\nserver.1=a:1:2\n"
                             "server.2=a:3:4\n"),
                     PAWL_ERR_CONFIG);
    assert_false(says(&f->errors, "is not set"));
    assert_int_equal(f->errors.n, 3); /* and no myid in /d */
}

static void bad_values_on_the_command_line_are_faults_too(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(config_set_property(&f->config, "snapCount=x", &f->errors), PAWL_ERR_CONFIG);
    assert_says(&f->errors, "command line: snapCount: \"x\" is not a whole number");
    assert_int_equal(config_set_property(&f->config, "snapCount", &f->errors), PAWL_ERR_CONFIG);
    assert_says(&f->errors, "command line: -DsnapCount: is not NAME=VALUE");
    assert_int_equal(config_set_property(&f->config, "=5", &f->errors), PAWL_ERR_CONFIG);
    assert_int_equal(config_set(&f->config, "clientPort", "x", CONFIG_OPTION, &f->errors),
                     PAWL_ERR_CONFIG);
    assert_says(&f->errors, "command line: clientPort: \"x\" is not a whole number");
}

/* --- names --- */

static void both_spellings_and_the_prefix_are_taken(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(load(f, "dataDir=/d\nclientPort=1\nconnectionMaxTokens=5\n"
                             "zookeeper.snapCount=7\nzookeeper.requestThrottleLimit=9\n"
                             "zookeeper.jute.maxbuffer=4096\nzookeeper.tickTime=100\n"),
                     0);
    assert_int_equal(f->config.connection_throttle.tokens, 5);
    assert_int_equal(f->config.store.snap_count, 7);
    assert_int_equal(f->config.request_throttle.max_requests, 9);
    assert_int_equal(f->config.server.max_packet_bytes, 4096);
    assert_int_equal(f->config.server.tick_ms, 100);
    assert_int_equal(f->config.warnings.n, 4);
    assert_says(&f->config.warnings, "zoo.cfg:4: zookeeper.snapCount: taken as snapCount");
}

static void an_unknown_key_is_a_warning_with_the_nearest_known_one(void **state)
{
    static const char *const cases[][2] = {
        {"tickTIme", "tickTime"},
        {"ticktime", "tickTime"},
        {"tikcTime", "tickTime"},
        {"snapcont", "snapCount"},
        {"maxClientConnections", "maxClientCnxns"},
        {"maxClientCnxn", "maxClientCnxns"},
        {"zookeeper.preAllocsize", "preAllocSize"},
        {"autopurge.interval", "autopurge.purgeInterval"},
        {"autopurge.snapRetaincount", "autopurge.snapRetainCount"},
        {"dataLogDirectory", "dataLogDir"},
        {"connectionMaxToken", "connectionMaxTokens"},
        {"jute.maxbufer", "jute.maxbuffer"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];

        assert_string_equal(config_nearest(cases[i][0]), cases[i][1]);
        snprintf(text, sizeof(text), "dataDir=/d\n\nclientPort=1\n%s=abc\n", cases[i][0]);
        assert_int_equal(load(f, text), 0);
        snprintf(text, sizeof(text), "%s:4: %s: unknown key, ignored; the nearest known one is %s",
                 f->file, cases[i][0], cases[i][1]);
        assert_int_equal(f->config.warnings.n, 1);
        assert_string_equal(f->config.warnings.line[0], text);
    }
}

static void what_is_near_to_nothing_is_not_compared(void **state)
{
    struct fixture *f = *state;
    char text[400];

    assert_null(config_nearest("x"));
    assert_null(config_nearest(""));
    assert_null(config_nearest("confluent.support.customer.id"));
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_null(config_nearest(text));
    memcpy(text + 200, "=1\ndataDir=/d\nclientPort=1\n", 28);
    assert_int_equal(load(f, text), 0);
    assert_int_equal(f->config.warnings.n, 1);
    assert_says(&f->config.warnings, ": unknown key, ignored");
}

static void keys_of_the_jvm_are_named_once_and_ignored(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(load(f,
                          "dataDir=/d\nclientPort=1\nserverCnxnFactory=a.NettyServerCnxnFactory\n"
                          "nio.numWorkerThreads=abc\nnio.numWorkerThreads=abd\n"),
                     0);
    config_set_property(&f->config, "java.security.krb5.conf=/krb5", &f->errors);
    config_set_property(&f->config, "zookeeper.root.logger=INFO,CONSOLE", &f->errors);
    assert_int_equal(f->errors.n, 0);
    assert_int_equal(f->config.warnings.n, 5);
    assert_says(&f->config.warnings, "zoo.cfg:3: serverCnxnFactory: concerns the Java server only");
    assert_says(&f->config.warnings, "zoo.cfg:5: nio.numWorkerThreads: concerns the Java server");
    assert_says(&f->config.warnings, "zoo.cfg:4: nio.numWorkerThreads: has no effect: line 5");
    assert_says(&f->config.warnings, "command line: java.security.krb5.conf: concerns");
    assert_says(&f->config.warnings, "command line: zookeeper.root.logger: concerns");
}

static void what_is_asked_for_in_vain_is_said(void **state)
{
    static const char *const in_vain[] = {
        "flushDelay=5",
        "maxWriteQueuePollTime=5",
        "maxBatchSize=1",
        "request_throttle_drop_stale=false",
        "request_stale_latency_check=true",
        "serializeLastProcessedZxid.enabled=false",
        "maxResponseCacheSize=800",
        "enableEagerACLCheck=true",
        "authProvider.1=com.example.OtherAuthenticationProvider",
        "ssl.hostnameVerification=false",
        "quorumCnxnTimeoutMs=4000",
        "metricsProvider.prometheusMetricsSummaryRotateIntervalSeconds=5",
    };
    struct fixture *f = *state;

    assert_int_equal(load(f, "dataDir=/d\nclientPort=1\nadmin.enableServer=false\n"
                             "audit.enable=false\nleader.nodelay=true\ncnxTimeout=5000\n"
                             "request_throttle_drop_stale=true\nflushDelay=0\nsuperUser.2=x\n"
                             "authProvider.1=org.apache.zookeeper.server.auth."
                             "SASLAuthenticationProvider\n"),
                     0);
    assert_int_equal(f->config.warnings.n, 0);
    for (size_t i = 0; i < sizeof(in_vain) / sizeof(in_vain[0]); i++) {
        char text[256], wanted[256];

        snprintf(text, sizeof(text), "dataDir=/d\nclientPort=1\n%s\n", in_vain[i]);
        assert_int_equal(load(f, text), 0);
        snprintf(wanted, sizeof(wanted), ":3: %.*s: ", (int)strcspn(in_vain[i], "="), in_vain[i]);
        assert_says(&f->config.warnings, wanted);
        assert_says(&f->config.warnings, "effect");
    }
    assert_int_equal(load(f, "dataDir=/d\nclientPort=1\nmessageTracker.Enabled=true\n"), 0);
    assert_says(&f->config.warnings, ":3: messageTracker.Enabled: known, but without effect");
    assert_string_equal(config_text(&f->config, "messageTracker.Enabled"), "true");
    assert_string_equal(config_text(&f->config, "cnxTimeout"), "5000");
    assert_null(config_text(&f->config, "nonsense"));
}

/* --- which source wins --- */

static void the_last_of_two_lines_wins_and_the_first_is_not_even_checked(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(load(f, "dataDir=/d\nclientPort=1\ntickTime=abc\nsnapCount=9\n"
                             "zookeeper.snapCount=8\ntickTime=700\n"),
                     0);
    assert_int_equal(f->config.server.tick_ms, 700);
    assert_int_equal(f->config.store.snap_count, 8);
    assert_says(&f->config.warnings, "zoo.cfg:3: tickTime: has no effect: line 6 gives it again");
}

static void options_beat_the_file_and_the_file_beats_properties(void **state)
{
    struct fixture *f = *state;
    struct config *c = &f->config;

    for (int property_first = 0; property_first <= 1; property_first++) {
        start_over(f);
        write_file(f->file, "dataDir=/file\nclientPort=1\nsnapCount=10\n");
        if (property_first) {
            config_set(c, "snapCount", "20", CONFIG_PROPERTY, &f->errors);
            config_set(c, "dataDir", "/option", CONFIG_OPTION, &f->errors);
        }
        assert_int_equal(config_read_file(c, f->file, &f->errors), 0);
        if (!property_first) {
            config_set(c, "snapCount", "20", CONFIG_PROPERTY, &f->errors);
            config_set(c, "dataDir", "/option", CONFIG_OPTION, &f->errors);
        }
        assert_int_equal(config_finish(c, &f->errors), 0);
        assert_int_equal(c->store.snap_count, 10);
        assert_string_equal(c->store.data_dir, "/option");
        assert_string_equal(c->store.log_dir, "/option");
        assert_int_equal(c->warnings.n, 2);
        assert_says(&c->warnings, "command line: snapCount: has no effect: the file and the "
                                  "options come before -D");
        assert_says(&c->warnings, "zoo.cfg:1: dataDir: has no effect: the command line comes "
                                  "before the file");
    }
}

static void no_file_is_needed(void **state)
{
    struct fixture *f = *state;

    config_set(&f->config, "dataDir", "relative", CONFIG_OPTION, &f->errors);
    config_set(&f->config, "clientPort", "0", CONFIG_OPTION, &f->errors);
    assert_int_equal(config_finish(&f->config, &f->errors), 0);
    assert_int_equal(f->config.warnings.n, 0);
    start_over(f);
    assert_int_equal(config_finish(&f->config, &f->errors), PAWL_ERR_CONFIG);
    assert_says(&f->errors, "command line: dataDir: dataDir is not set");
}

/* --- what Apache's server does with the same file --- */

enum outcome { STARTS, REFUSED };

struct outcome_case {
    const char *name;
    const char *text;
    const char *my_id;
    const char *dynamic;
    enum outcome outcome;
    const char *says; /* among the errors, or among the warnings if it starts */
};

#define DATA  "dataDir=@\nclientPort=2181\n"
#define PAIR  "server.1=h:1:2\nserver.2=h:3:4\n"
#define LIMIT "initLimit=10\nsyncLimit=5\n"

static const struct outcome_case known_outcomes[] = {
    {"no dataDir", "clientPort=2181\n", NULL, NULL, REFUSED, "dataDir is not set"},
    {"clientPort not number", "dataDir=@\nclientPort=abc\n", NULL, NULL, REFUSED,
     "clientPort: \"abc\" is not a whole number"},
    {"tickTime=0", DATA "tickTime=0\n", NULL, NULL, REFUSED, "zoo.cfg:3: tickTime: \"0\""},
    {"tickTime negative", DATA "tickTime=-1\n", NULL, NULL, REFUSED, "tickTime: \"-1\""},
    {"clientPortAddress no port", "dataDir=@\nclientPortAddress=127.0.0.1\n", NULL, NULL, REFUSED,
     "zoo.cfg:2: clientPortAddress: clientPortAddress is set but clientPort is not set"},
    {"no clientPort standalone", "dataDir=@\n", NULL, NULL, STARTS, "clientPort is not set"},
    {"secureClientPortAddress no port", DATA "secureClientPortAddress=::1\n", NULL, NULL, REFUSED,
     "secureClientPortAddress is set but secureClientPort is not set"},
    {"min>max", DATA "minSessionTimeout=10\nmaxSessionTimeout=5\n", NULL, NULL, REFUSED,
     "zoo.cfg:3: minSessionTimeout: minSessionTimeout must not be larger than maxSessionTimeout"},
    {"bad boolean", DATA "standaloneEnabled=maybe\n", NULL, NULL, REFUSED,
     "standaloneEnabled: \"maybe\" is neither true nor false"},
    {"electionAlg=1", DATA "electionAlg=1\n", NULL, NULL, REFUSED, "electionAlg: \"1\""},
    {"peerType bad", DATA "peerType=foo\n", NULL, NULL, REFUSED,
     "peerType: \"foo\" is not one of the choices; allowed is participant or observer"},
    {"metrics class bad", DATA "metricsProvider.className=foo.Bar\n", NULL, NULL, REFUSED,
     "metrics provider class was not found"},
    {"metrics class good",
     DATA
     "metricsProvider.className=org.x.PrometheusMetricsProvider\nmessageTracker.Enabled=true\n",
     NULL, NULL, STARTS, "messageTracker.Enabled: known"},
    {"command path", DATA "admin.commandURL=commands\n", NULL, NULL, REFUSED,
     "admin.commandURL: is not a path like /commands"},
    {"command path of slashes", DATA "admin.commandURL=/a/\n", NULL, NULL, REFUSED,
     "admin.commandURL: is not a path like /commands"},
    {"command path with a quote", DATA "admin.commandURL=/a\"b\n", NULL, NULL, REFUSED,
     "admin.commandURL: is not a path like /commands"},
    {"one port twice",
     DATA "admin.enableServer=true\nmetricsProvider.className=PrometheusMetricsProvider\n"
          "metricsProvider.httpPort=8080\n",
     NULL, NULL, REFUSED, "is the same port as admin.serverPort"},
    {"initLimit missing", DATA PAIR "syncLimit=5\n", "1", NULL, REFUSED, "initLimit is not set"},
    {"syncLimit missing", DATA PAIR "initLimit=5\n", "1", NULL, REFUSED, "syncLimit is not set"},
    {"myid missing", DATA PAIR LIMIT, NULL, NULL, REFUSED, "/myid: myid file is missing"},
    {"myid not number", DATA PAIR LIMIT, "abc", NULL, REFUSED, "serverid abc is not a number"},
    {"myid not in list", DATA PAIR LIMIT, "9", NULL, REFUSED,
     "My id 9 not in the peer list, which has: 1 2"},
    {"same quorum port", DATA LIMIT "server.1=h:1:2\nserver.2=h:1:4\n", "1", NULL, REFUSED,
     "servers 1 and 2 are both to listen at h:1"},
    {"same election port", DATA LIMIT "server.1=h:1:2\nserver.2=h:3:2\n", "1", NULL, REFUSED,
     "servers 1 and 2 are both to listen at h:2"},
    {"ports crossed", DATA LIMIT "server.1=h:1:2\nserver.2=h:2:4\n", "1", NULL, REFUSED,
     "servers 1 and 2 are both to listen at h:2"},
    {"same ports elsewhere", DATA LIMIT "server.1=h:1:2\nserver.2=g:1:2\n", "1", NULL, STARTS,
     "No server failure will be tolerated"},
    {"client port is a quorum port", DATA LIMIT "server.1=h:2181:2\nserver.2=g:1:2\n", "1", NULL,
     REFUSED, "2181 is a port of server.1 for the other members as well"},
    {"client port is an election port", DATA LIMIT "server.1=h:1:2181\nserver.2=g:1:2\n", "1", NULL,
     REFUSED, "2181 is a port of server.1 for the other members as well"},
    {"client port of another's", DATA LIMIT "server.1=h:1:2\nserver.2=g:2181:2\n", "1", NULL,
     STARTS, "No server failure will be tolerated"},
    {"bad server line", DATA "server.1=127.0.0.1:22391\n", "1", NULL, REFUSED,
     "zoo.cfg:3: server.1: 127.0.0.1:22391 does not have the form server_config"},
    {"too many client parts", DATA "server.1=h:1:2;1;2;3\n", "1", NULL, REFUSED,
     "does not have the"},
    {"too many parts", DATA "server.1=h:1:2:observer:5\n", "1", NULL, REFUSED, "does not have the"},
    {"non-numeric port", DATA "server.1=127.0.0.1:a:2\n", "1", NULL, REFUSED,
     "Address unresolved: 127.0.0.1:a"},
    {"port out of range", DATA "server.1=h:70000:2\n", "1", NULL, REFUSED, "port out of range"},
    {"same quorum/election port", DATA "server.1=h:1:1\n", "1", NULL, REFUSED,
     "Client and election port must be different! Please update the configuration file on "
     "server.1"},
    {"bad role", DATA "server.1=h:1:2:boss\n", "1", NULL, REFUSED, "Unrecognised peertype: boss"},
    {"bad id", DATA "server.x=h:1:2\n", "1", NULL, REFUSED, "server.x: \"x\" is not a number"},
    {"multi addr disabled", DATA LIMIT "server.1=h:1:2|i:3:4\nserver.2=h:5:6\n", "1", NULL, REFUSED,
     "Multiple address feature is disabled, but multiple addresses were specified for sid 1"},
    /* Refused by Apache's, although documented; ours takes the key. */
    {"multi addr cfg enabled",
     DATA LIMIT "multiAddress.enabled=true\nserver.1=h:1:2|i:3:4\nserver.2=h:5:6\n", "1", NULL,
     STARTS, "No server failure will be tolerated"},
    {"roles differ", DATA LIMIT "multiAddress.enabled=true\nserver.1=h:1:2|i:3:4:observer\n", "1",
     NULL, REFUSED, "Multiple addresses should have similar type"},
    {"observer only", DATA LIMIT "server.1=h:1:2:observer\n", "1", NULL, REFUSED,
     "Observers w/o participants is an invalid configuration"},
    {"one server + observer", DATA LIMIT "server.1=h:1:2\nserver.2=h:3:4:OBSERVER\n", "1", NULL,
     REFUSED, "Observers w/o quorum is an invalid configuration"},
    {"one server", DATA "server.1=h:1:2\n", "1", NULL, STARTS,
     "Invalid configuration, only one server specified (ignoring)"},
    {"two servers", DATA LIMIT PAIR, "1", NULL, STARTS,
     "No server failure will be tolerated. You need at least 3 servers."},
    {"four servers", DATA LIMIT PAIR "server.3=h:5:6\nserver.4=h:7:8\n", "1", NULL, STARTS,
     "Non-optimal configuration, consider an odd number of servers."},
    {"group missing server", DATA LIMIT PAIR "server.3=h:5:6\ngroup.1=1:2\n", "1", NULL, REFUSED,
     "Server 3 is not in a group"},
    {"server in two groups", DATA LIMIT PAIR "group.1=1:2\ngroup.2=2\n", "1", NULL, REFUSED,
     "Server 2 is in multiple groups"},
    {"bad weight", DATA LIMIT PAIR "group.1=1:2\nweight.2=x\n", "1", NULL, REFUSED,
     "weight.2: \"x\" is no weight"},
    {"client addr mismatch",
     "dataDir=@\nclientPort=22399\n" LIMIT "server.1=h:1:2;22390\nserver.2=h:3:4\n", "1", NULL,
     REFUSED,
     "client address for this server (id = 1) in static config file is 0.0.0.0:22399 is different "
     "from client address found in dynamic file: 0.0.0.0:22390"},
    {"dynamic + server", DATA LIMIT "dynamicConfigFile=%\nserver.2=h:1:2\n", "1", PAIR, REFUSED,
     "parameter: server.2 must be in a separate dynamic config file"},
    {"dynamic missing", DATA LIMIT "dynamicConfigFile=/nonexistent/nodyn\n", "1", NULL, REFUSED,
     "/nonexistent/nodyn: cannot be read: No such file or directory"},
    {"dynamic with version", DATA LIMIT "dynamicConfigFile=%\n", "1", PAIR "version=1\n", REFUSED,
     "zoo.cfg.dynamic:3: version: dynamic file shouldn't have version inside"},
    {"dynamic with other keys", DATA LIMIT "dynamicConfigFile=%\n", "1", PAIR "tickTime=1\n",
     REFUSED, "zoo.cfg.dynamic:3: tickTime: Unrecognised parameter: tickTime"},
    {"dynamic", DATA LIMIT "dynamicConfigFile=%\n", "1", PAIR, STARTS, "No server failure"},
    {"sasl required but disabled", DATA "quorum.auth.serverRequireSasl=true\n", NULL, NULL, REFUSED,
     "quorum.auth.enableSasl is disabled, so cannot enable quorum.auth.serverRequireSasl"},
    {"unknown key", DATA "foo.bar.baz=1\n", NULL, NULL, STARTS, "foo.bar.baz: unknown key"},
    {"snapRetainCount=1", DATA "autopurge.snapRetainCount=1\n", NULL, NULL, STARTS,
     "Invalid autopurge.snapRetainCount: 1. Defaulting to 3"},
    {"snapCount=1", DATA "snapCount=1\n", NULL, NULL, STARTS,
     "Invalid snapCount: 1. Defaulting to 2"},
    {"peerType mismatch", DATA LIMIT PAIR "peerType=observer\n", "1", NULL, STARTS,
     "Peer type from servers list (PARTICIPANT) doesn't match peerType (OBSERVER). Defaulting to "
     "servers list."},
    {"ipv6 bad", DATA "server.1=[::1:22391:22392\n", "1", NULL, REFUSED,
     "[::1:22391:22392 starts with '[' but has no matching ']:'"},
    {"relative dataDir", "dataDir=data\nclientPort=1\n", NULL, NULL, STARTS,
     "data is relative. Prepend ./ to indicate that you're sure!"},
    {"enforce without schemes", DATA "enforce.auth.enabled=true\n", NULL, NULL, REFUSED,
     "enforce.auth.enabled is true but enforce.auth.schemes is not configured"},
    {"id too large for TTL", DATA "extendedTypesEnabled=true\n", "255", NULL, REFUSED,
     "must not be larger than 254"},
    {"long socket path",
     DATA "clientUnixSocket=/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
     NULL, NULL, REFUSED, "clientUnixSocket: is too long"},
};

/* '@' stands for the data folder, '%' for the dynamic file. */
static char *filled_in(const struct fixture *f, const char *text)
{
    struct strbuf out;
    char *copy;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    for (; *text != '\0'; text++) {
        if (*text == '@') {
            strbuf_append_str(&out, f->data);
        } else if (*text == '%') {
            strbuf_append_str(&out, f->dynamic);
        } else {
            strbuf_append(&out, text, 1);
        }
    }
    copy = must_strdup(strbuf_cstr(&out));
    strbuf_fini(&out);
    return copy;
}

static void faults_and_warnings_are_those_of_apaches_server(void **state)
{
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(known_outcomes) / sizeof(known_outcomes[0]); i++) {
        const struct outcome_case *o = &known_outcomes[i];
        char *text = filled_in(f, o->text);
        int rc;

        unlink(f->my_id);
        unlink(f->dynamic);
        if (o->my_id != NULL) {
            write_file(f->my_id, o->my_id);
        }
        if (o->dynamic != NULL) {
            write_file(f->dynamic, o->dynamic);
        }
        rc = load(f, text);
        free(text);
        if ((rc == 0) != (o->outcome == STARTS)) {
            fail_msg("%s: rc %d %s", o->name, rc, f->errors.n > 0 ? f->errors.line[0] : "");
        }
        assert_says(o->outcome == STARTS ? &f->config.warnings : &f->errors, o->says);
    }
}

/* --- members --- */

/* The version is the end of the file's name; a proposal beside it has to be readable if members may
 * change. */
static void members_have_the_version_of_their_file(void **state)
{
    struct fixture *f = *state;
    char members[128], next[128], text[1024];
    static const char *const tails[] = {"", "reconfigEnabled=true\n", "reconfigEnabled=true\n",
                                        "reconfigEnabled=true\n", ""};
    static const char *const proposals[] = {NULL, NULL, PAIR "version=100000004\n",
                                            "server.1=a:1\nversion=1\n", NULL};

    snprintf(members, sizeof(members), "%s.100000003", f->dynamic);
    snprintf(next, sizeof(next), "%s.next", f->dynamic);
    write_file(f->my_id, "1\n");
    write_file(members, PAIR);
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        if (proposals[i] != NULL) {
            write_file(next, proposals[i]);
        }
        snprintf(text, sizeof(text), "dataDir=%s\n" LIMIT "dynamicConfigFile=%s\n%s", f->data,
                 members, tails[i]);
        assert_int_equal(load(f, text) == 0, i != 3);
        assert_true(f->config.ensemble.quorum.version == INT64_C(0x100000003));
        if (i == 3) {
            assert_says(&f->errors, "zoo.cfg.dynamic.next: ");
        }
    }
    unlink(members);
    unlink(next);
}

/* Nor is there a place for a list that changes without a file. */
static void members_that_change_are_kept_beside_a_file(void **state)
{
    struct fixture *f = *state;
    struct config_lines errors;
    struct config c;

    write_file(f->my_id, "1\n");
    config_init(&c);
    config_lines_init(&errors);
    config_set(&c, "dataDir", f->data, CONFIG_OPTION, &errors);
    config_set(&c, "initLimit", "5", CONFIG_OPTION, &errors);
    config_set(&c, "syncLimit", "5", CONFIG_OPTION, &errors);
    config_set(&c, "server.1", "a:1:2;3", CONFIG_OPTION, &errors);
    config_set(&c, "server.2", "b:1:2;3", CONFIG_OPTION, &errors);
    config_set(&c, "reconfigEnabled", "true", CONFIG_OPTION, &errors);
    assert_int_not_equal(config_finish(&c, &errors), 0);
    assert_says(&errors, "kept beside the configuration file");
    config_fini(&c);
    config_lines_fini(&errors);
}

static void a_server_line_has_all_its_parts(void **state)
{
    struct fixture *f = *state;
    const struct quorum_member *m;
    char *text =
        filled_in(f, "dataDir=@\n" LIMIT "server.1=[::1]:2888:3888:participant;[::1]:2181\n"
                     "server.2=a:1:2:Observer;h:70\nserver.3=c:1:2;;2183\n"
                     "server.4=d:1:2\nweight.4=3\ngroup.7=1:3:4\n");

    write_file(f->my_id, "1\n");
    assert_int_equal(load(f, text), 0);
    free(text);

    assert_true(config_is_ensemble(&f->config));
    assert_int_equal(f->config.ensemble.quorum.n_members, 4);
    assert_int_equal(f->config.ensemble.my_id, 1);
    assert_true(f->config.ensemble.quorum.hierarchical);
    m = &f->config.ensemble.quorum.member[0];
    assert_int_equal(m->id, 1);
    assert_string_equal(m->address[0].host, "::1");
    assert_int_equal(m->address[0].quorum_port, 2888);
    assert_int_equal(m->address[0].election_port, 3888);
    assert_string_equal(m->client_host, "::1");
    assert_int_equal(m->client_port, 2181);
    assert_int_equal(m->group, 7);
    m = &f->config.ensemble.quorum.member[1];
    assert_true(m->observer);
    assert_string_equal(m->client_host, "h");
    assert_int_equal(m->client_port, 70);
    m = &f->config.ensemble.quorum.member[2];
    assert_null(m->client_host);
    assert_int_equal(m->client_port, -1);
    assert_string_equal(m->secure_client_host, "0.0.0.0");
    assert_int_equal(m->secure_client_port, 2183);
    m = &f->config.ensemble.quorum.member[3];
    assert_int_equal(m->weight, 3);
    assert_int_equal(m->secure_client_port, -1);

    /* What its own line says is where it listens. */
    assert_int_equal(f->config.net.client_port, 2181);
    assert_string_equal(f->config.net.client_address, "::1");
}

static void several_addresses_are_kept_in_order(void **state)
{
    struct fixture *f = *state;
    char *text = filled_in(f, DATA LIMIT "multiAddress.enabled=true\n"
                                         "server.1=a:1:2|[::2]:3:4;2181\nserver.2=b:5:6\n");

    write_file(f->my_id, "2");
    assert_int_equal(load(f, text), 0);
    free(text);
    assert_int_equal(f->config.ensemble.quorum.member[0].n_addresses, 2);
    assert_string_equal(f->config.ensemble.quorum.member[0].address[1].host, "::2");
    assert_int_equal(f->config.ensemble.quorum.member[0].address[1].election_port, 4);
    assert_int_equal(f->config.net.client_port, 2181);
}

static void three_servers_are_nothing_to_warn_about(void **state)
{
    struct fixture *f = *state;
    char *text = filled_in(f, "dataDir=@\nclientPort=2181\nclientPortAddress=0.0.0.0\n" LIMIT
                              "server.1=a:1:2;10.0.0.1:2181\nserver.2=b:1:2\nserver.3=c:1:2\n");

    write_file(f->my_id, "1");
    assert_int_equal(load(f, text), 0);
    free(text);
    assert_int_equal(f->config.warnings.n, 0);
    assert_true(config_is_ensemble(&f->config));
    assert_string_equal(f->config.net.client_address, "10.0.0.1");
}

static void a_lone_server_is_an_ensemble_only_if_told_so(void **state)
{
    struct fixture *f = *state;
    char *text = filled_in(f, "dataDir=@\n" LIMIT "server.1=a:1:2;2181\n");
    char *told = filled_in(f, "dataDir=@\n" LIMIT "server.1=a:1:2;2181\nstandaloneEnabled=false\n");

    write_file(f->my_id, "1");
    assert_int_equal(load(f, text), 0);
    assert_false(config_is_ensemble(&f->config));
    assert_int_equal(f->config.net.client_port, 2181);
    assert_int_equal(config_check_supported(&f->config, &f->errors), 0);

    assert_int_equal(load(f, told), 0);
    assert_true(config_is_ensemble(&f->config));
    assert_int_equal(config_check_supported(&f->config, &f->errors), 0);
    free(text);
    free(told);
}

static void what_this_version_cannot_do_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"secureClientPort=2281", "ssl.keyStore.location: there is no certificate to show"},
        {"secureClientPort=2281\nssl.keyStore.location=/no/such\nssl.clientAuth=none",
         "zoo.cfg:4: ssl.keyStore.location: /no/such: No such file or directory"},
        {"enforce.auth.enabled=true\nenforce.auth.schemes=x509",
         ":4: enforce.auth.schemes: Authentication scheme x509 is not available: there is no port"},
        {"sessionRequireClientSASLAuth=true",
         ":3: sessionRequireClientSASLAuth: no client could come: name the users in a JAAS file"},
        {"sasl.userFile=/no/such", ":3: sasl.userFile: /no/such: cannot be read: No such file"},
        {"java.security.auth.login.config=/no/such",
         ":3: java.security.auth.login.config: /no/such: cannot be read: No such file"},
        {"enforce.auth.enabled=true\nenforce.auth.schemes=digest, sasl", "enforce.auth.schemes: "},
        {"enforce.auth.enabled=true\nenforce.auth.schemes=digset",
         ":4: enforce.auth.schemes: Authentication scheme digset is not available"},
        {"enforce.auth.enabled=true\nenforce.auth.schemes=digest\n"
         "DigestAuthenticationProvider.enabled=false",
         ":4: enforce.auth.schemes: Authentication scheme digest is not available: "},
        {"DigestAuthenticationProvider.digestAlg=SHA0",
         ":3: DigestAuthenticationProvider.digestAlg: is \"SHA0\", which is no hash"},
        {"admin.enableServer=true\nadmin.forceHttps=true",
         ":4: admin.forceHttps: this version has"},
        {"admin.enableServer=true\nadmin.portUnification=true", ":4: admin.portUnification: this"},
        {"metricsProvider.className=PrometheusMetricsProvider\nmetricsProvider.httpsPort=7001",
         ":4: metricsProvider.httpsPort: this version has no HTTPS"},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];

        snprintf(text, sizeof(text), "dataDir=/d\nclientPort=1\n%s\n", cases[i][0]);
        assert_int_equal(load(f, text), 0);
        assert_int_equal(config_check_supported(&f->config, &f->errors), PAWL_ERR_CONFIG);
        assert_int_equal(f->errors.n, 1);
        assert_says(&f->errors, cases[i][1]);
    }
    assert_int_equal(load(f,
                          "dataDir=/d\nclientPort=1\nenforce.auth.enabled=true\n"
                          "enforce.auth.schemes=digest , ip\n4lw.commands.whitelist=ruok, statt\n"
                          "DigestAuthenticationProvider.digestAlg=SHA-256\n"),
                     0);
    assert_int_equal(config_check_supported(&f->config, &f->errors), 0);
    assert_int_equal(f->config.warnings.n, 1);
    assert_says(&f->config.warnings, ":5: 4lw.commands.whitelist: there is no word statt");
}

/* Alone neither means anything. */
static void what_members_cannot_do_is_refused_in_an_ensemble(void **state)
{
    static const char *const cases[][2] = {
        {"oraclePath=/oracle", "oraclePath: there is no oracle here, by design"},
        {"observerMasterPort=2191", "observerMasterPort: followers of this version take no"},
    };
    struct fixture *f = *state;

    write_file(f->my_id, "1");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];

        snprintf(text, sizeof(text), "dataDir=%s\nclientPort=2181\n" LIMIT PAIR "%s\n", f->data,
                 cases[i][0]);
        assert_int_equal(load(f, text), 0);
        assert_int_equal(config_check_supported(&f->config, &f->errors), PAWL_ERR_CONFIG);
        assert_says(&f->errors, cases[i][1]);
        snprintf(text, sizeof(text), "dataDir=%s\nclientPort=2181\n%s\n", f->data, cases[i][0]);
        assert_int_equal(load(f, text), 0);
        assert_int_equal(config_check_supported(&f->config, &f->errors), 0);
    }
}

/* It locks nobody out, and it does not do what its author thinks either. */
static void schemes_that_are_not_enforced_are_named(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(load(f, "dataDir=/d\nclientPort=1\nenforce.auth.schemes=digset\n"), 0);
    assert_int_equal(config_check_supported(&f->config, &f->errors), 0);
    assert_int_equal(f->config.warnings.n, 2);
    assert_says(&f->config.warnings, ":3: enforce.auth.schemes: Authentication scheme digset is");
    assert_says(&f->config.warnings, ":3: enforce.auth.schemes: has no effect: enforce.auth.en");
}

/* --- the file for others to see --- */

static void the_file_is_shown_without_its_secrets(void **state)
{
    struct fixture *f = *state;
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    assert_int_equal(load(f, "# a comment\ndataDir=/d\r\nclientPort=1\n"
                             "ssl.keyStore.password=one\\\n  two\\\n  three\n"
                             "zookeeper.DigestAuthenticationProvider.superDigest : super:xyz\n"
                             "my.own.password two\n\nssl.quorum.keyStore.passwordPath=/p\n"
                             "ssl.trustStore.password=last"),
                     0);
    assert_true(config_file_text(&f->config, &text));
    assert_string_equal(strbuf_cstr(&text),
                        "# a comment\ndataDir=/d\r\nclientPort=1\n"
                        "ssl.keyStore.password=(not shown)\n"
                        "zookeeper.DigestAuthenticationProvider.superDigest=(not shown)\n"
                        "my.own.password=(not shown)\n\nssl.quorum.keyStore.passwordPath=/p\n"
                        "ssl.trustStore.password=(not shown)\n");
    start_over(f);
    assert_false(config_file_text(&f->config, &text)); /* there is no file */
    strbuf_fini(&text);
}

/* --- reload, printing --- */

static void reload_takes_what_is_safe_and_names_the_rest(void **state)
{
    struct fixture *f = *state;
    struct config fresh;
    struct config_lines notes;

    config_lines_init(&notes);
    assert_int_equal(load(f, "dataDir=/d\nclientPort=1\n4lw.commands.whitelist=ruok\n"), 0);
    config_init(&fresh);
    write_file(f->file, "dataDir=/other\nclientPort=1\n4lw.commands.whitelist=*\n"
                        "log.level=debug\nmaxClientCnxns=5\naudit.enable=true\n");
    assert_int_equal(config_read_file(&fresh, f->file, &f->errors), 0);
    assert_int_equal(config_finish(&fresh, &f->errors), 0);

    assert_true(config_reload(&f->config, &fresh, &notes));
    config_fini(&fresh);
    assert_string_equal(f->config.server.four_letter_words, "*");
    assert_string_equal(config_text(&f->config, "4lw.commands.whitelist"), "*");
    assert_int_equal(f->config.log.level, LOG_DEBUG);
    assert_int_equal(f->config.net.max_per_address, 5);
    assert_string_equal(f->config.store.data_dir, "/d");
    assert_int_equal(notes.n, 6); /* dataLogDir follows dataDir */
    assert_says(&notes, "maxClientCnxns: changed, in effect from now on");
    assert_says(&notes, "dataDir: changed, takes effect with the next start");
    assert_says(&notes, "audit.enable: changed, takes effect with the next start");
    config_lines_fini(&notes);
}

/* Loads `before`, then takes over `after`. */
static void reload(struct fixture *f, const char *before, const char *after,
                   struct config_lines *notes)
{
    struct config fresh;

    config_lines_init(notes);
    assert_int_equal(load(f, before), 0);
    config_init(&fresh);
    write_file(f->file, after);
    assert_int_equal(config_read_file(&fresh, f->file, &f->errors), 0);
    assert_int_equal(config_finish(&fresh, &f->errors), 0);
    config_reload(&f->config, &fresh, notes);
    config_fini(&fresh);
}

static void reload_keeps_what_is_derived_from_what_stays(void **state)
{
    struct fixture *f = *state;
    struct config_lines notes;

    reload(f, "dataDir=/d\nclientPort=1\ntickTime=2000\n",
           "dataDir=/d\nclientPort=1\ntickTime=500\nreadonlymode.enabled=true\n", &notes);
    assert_int_equal(f->config.server.min_session_timeout_ms, 4000);
    assert_int_equal(f->config.server.max_session_timeout_ms, 40000);
    assert_string_equal(f->config.server.four_letter_words, "srvr");
    assert_int_equal(notes.n, 2);
    assert_says(&notes, "tickTime: changed, takes effect with the next start");
    config_lines_fini(&notes);

    reload(f, "dataDir=/d\nclientPort=1\ntickTime=2000\nminSessionTimeout=3000\n",
           "dataDir=/d\nclientPort=1\ntickTime=500\nmaxSessionTimeout=9000\n", &notes);
    assert_int_equal(f->config.server.min_session_timeout_ms, 4000); /* no longer given */
    assert_int_equal(f->config.server.max_session_timeout_ms, 9000);
    config_lines_fini(&notes);

    reload(f, "dataDir=/d\nclientPort=1\ntickTime=1000\n",
           "dataDir=/d\nclientPort=1\ntickTime=3000\nminSessionTimeout=50000\n", &notes);
    assert_int_equal(f->config.server.min_session_timeout_ms, 2000); /* above the 20 s of now */
    assert_int_equal(f->config.server.max_session_timeout_ms, 20000);
    assert_says(&notes, "minSessionTimeout, maxSessionTimeout: take effect with the next start");
    config_lines_fini(&notes);
}

static void reload_of_the_same_file_changes_nothing(void **state)
{
    struct fixture *f = *state;
    struct config fresh;
    struct config_lines notes;

    config_lines_init(&notes);
    assert_int_equal(load(f, "dataDir=/d\nclientPort=1\nsnapshotSizeFactor=0.5\n"), 0);
    config_init(&fresh);
    assert_int_equal(config_read_file(&fresh, f->file, &f->errors), 0);
    assert_int_equal(config_finish(&fresh, &f->errors), 0);
    assert_false(config_reload(&f->config, &fresh, &notes));
    assert_int_equal(notes.n, 0);
    config_fini(&fresh);
    config_lines_fini(&notes);
}

/* All that `print` writes; the caller's to free. */
/* Not inlined: gcc 12 takes the address kept by the stream for a dangling one. */
__attribute__((noinline)) static char *printed(void (*print)(FILE *out, const void *arg),
                                               const void *arg)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    print(out, arg);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void print_effective(FILE *out, const void *arg)
{
    config_print_effective(arg, out, false);
}

static void what_is_in_effect_can_be_read_back(void **state)
{
    struct fixture *f = *state;
    char *first, *second;

    assert_int_equal(load(f, "dataDir=/d\\\\e\nclientPort=1\nautopurge.snapRetainCount=1\n"
                             "authProvider.1=x.SASLAuthenticationProvider\n"
                             "DigestAuthenticationProvider.superDigest=super:hush\n"),
                     0);
    first = printed(print_effective, &f->config);
    assert_null(strstr(first, "hush"));
    assert_non_null(strstr(first, "zoo.cfg:1\ndataDir=/d\\\\e\n"));
    assert_non_null(strstr(first, "autopurge.snapRetainCount=3\n"));
    assert_non_null(strstr(first, "authProvider.1=x.SASLAuthenticationProvider\n"));
    *strstr(first, "(not shown)") = ':';
    assert_int_equal(load(f, first), 0);
    assert_string_equal(f->config.store.data_dir, "/d\\e");
    second = printed(print_effective, &f->config);
    assert_non_null(strstr(second, "autopurge.snapRetainCount=3\n"));
    free(first);
    free(second);
}

static void print_keys(FILE *out, const void *arg)
{
    config_print_keys(out, *(const enum config_keys_format *)arg);
}

static void every_key_is_in_the_printed_table(void **state)
{
    (void)state;
    for (int format = CONFIG_KEYS_TEXT; format <= CONFIG_KEYS_MDOC; format++) {
        enum config_keys_format as = (enum config_keys_format)format;
        char *text = printed(print_keys, &as);

        for (size_t i = 0; i < config_n_keys; i++) {
            assert_non_null(strstr(text, config_keys[i].name));
            assert_non_null(config_keys[i].meaning);
        }
        free(text);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(broken_escapes_are_faults_with_their_line),
        TEST(missing_and_huge_files_are_faults),
        TEST(an_almost_empty_file_gives_apaches_defaults),
        TEST(derived_defaults_follow_what_they_derive_from),
        TEST(every_field_receives_its_key_from_the_file),
        TEST(every_field_receives_its_key_from_the_command_line),
        TEST(no_key_with_a_field_is_missing_from_the_table_above),
        TEST(core_keys_all_have_a_field),
        TEST(names_are_unique_and_aliases_lead_somewhere),
        TEST(a_bad_value_of_any_known_key_is_refused_with_its_line),
        TEST(bad_values_are_described),
        TEST(all_faults_are_reported_at_once),
        TEST(a_refused_value_is_not_also_called_missing),
        TEST(bad_values_on_the_command_line_are_faults_too),
        TEST(both_spellings_and_the_prefix_are_taken),
        TEST(an_unknown_key_is_a_warning_with_the_nearest_known_one),
        TEST(what_is_near_to_nothing_is_not_compared),
        TEST(keys_of_the_jvm_are_named_once_and_ignored),
        TEST(what_is_asked_for_in_vain_is_said),
        TEST(the_last_of_two_lines_wins_and_the_first_is_not_even_checked),
        TEST(options_beat_the_file_and_the_file_beats_properties),
        TEST(no_file_is_needed),
        TEST(faults_and_warnings_are_those_of_apaches_server),
        TEST(members_have_the_version_of_their_file),
        TEST(members_that_change_are_kept_beside_a_file),
        TEST(a_server_line_has_all_its_parts),
        TEST(several_addresses_are_kept_in_order),
        TEST(three_servers_are_nothing_to_warn_about),
        TEST(a_lone_server_is_an_ensemble_only_if_told_so),
        TEST(what_this_version_cannot_do_is_refused),
        TEST(what_members_cannot_do_is_refused_in_an_ensemble),
        TEST(schemes_that_are_not_enforced_are_named),
        TEST(the_file_is_shown_without_its_secrets),
        TEST(reload_takes_what_is_safe_and_names_the_rest),
        TEST(reload_keeps_what_is_derived_from_what_stays),
        TEST(reload_of_the_same_file_changes_nothing),
        TEST(what_is_in_effect_can_be_read_back),
        TEST(every_key_is_in_the_printed_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
