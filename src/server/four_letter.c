/* SPDX-License-Identifier: Apache-2.0 */
#include "server/four_letter.h"

#include <inttypes.h>

#include "base/logging.h"
#include "server/listing.h"
#include "server/metrics_text.h"
#include "server/version_text.h"
#include "wire/jute.h"

/* ---- short answers ---- */

static void answer_ruok(struct server *s, struct connection *c)
{
    (void)s;
    strbuf_append_str(&c->out, "imok");
}

static void answer_isro(struct server *s, struct connection *c)
{
    (void)s;
    strbuf_append_str(&c->out, "rw");
}

static void answer_gtmk(struct server *s, struct connection *c)
{
    strbuf_printf(&c->out, "%" PRId64, s->trace_mask);
}

static void answer_srst(struct server *s, struct connection *c)
{
    metrics_reset(&s->stats);
    strbuf_append_str(&c->out, "Server stats reset.\n");
}

static void answer_crst(struct server *s, struct connection *c)
{
    struct list *item;

    list_for_each (item, &s->connections) {
        connection_reset_stats(container_of(item, struct connection, link));
    }
    strbuf_append_str(&c->out, "Connection stats reset.\n");
}

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

static void answer_conf(struct server *s, struct connection *c)
{
    struct strbuf *out = &c->out;
    const struct server_facts *f = &s->facts;

    strbuf_printf(out, "clientPort=%d\nsecureClientPort=%d\n", f->client_port, f->secure_client_port);
    strbuf_printf(out, "dataDir=%s\ndataDirSize=%" PRId64 "\n", or_empty(f->data_dir),
                  f->data_dir_bytes);
    strbuf_printf(out, "dataLogDir=%s\ndataLogSize=%" PRId64 "\n", or_empty(f->log_dir),
                  f->log_dir_bytes);
    strbuf_printf(out, "tickTime=%" PRId64 "\nmaxClientCnxns=%" PRId64 "\n", s->options.tick_ms,
                  s->options.limits.max_per_address);
    strbuf_printf(out, "minSessionTimeout=%" PRId64 "\nmaxSessionTimeout=%" PRId64 "\n",
                  s->options.min_session_timeout_ms, s->options.max_session_timeout_ms);
    strbuf_printf(out, "clientPortListenBacklog=%d\n", f->listen_backlog);
    /* A server that stands alone is number 0, though it numbers its sessions as if it were 1. */
    strbuf_append_str(out, "serverId=0\n");
}

static void answer_dirs(struct server *s, struct connection *c)
{
    const struct server_facts *f = &s->facts;

    strbuf_printf(&c->out, "datadir_size: %" PRId64 "\nlogdir_size: %" PRId64 "\n",
                  f->data_dir_bytes, f->log_dir_bytes);
}

static void answer_envi(struct server *s, struct connection *c)
{
    struct strbuf *out = &c->out;
    const struct server_facts *f = &s->facts;

    strbuf_append_str(out, "Environment:\nzookeeper.version=" SERVER_VERSION_TEXT "\n");
    strbuf_printf(out, "host.name=%s\n", or_empty(f->host_name));
    strbuf_append_str(out, "java.version=<NA>\njava.vendor=<NA>\njava.home=<NA>\n"
                           "java.class.path=<NA>\njava.library.path=<NA>\njava.io.tmpdir=<NA>\n"
                           "java.compiler=<NA>\n");
    strbuf_printf(out, "os.name=%s\nos.arch=%s\nos.version=%s\n", or_empty(f->os_name),
                  or_empty(f->os_arch), or_empty(f->os_version));
    strbuf_printf(out, "user.name=%s\nuser.home=%s\nuser.dir=%s\n", or_empty(f->user_name),
                  or_empty(f->user_home), or_empty(f->user_dir));
    strbuf_printf(out,
                  "os.memory.free=%" PRId64 "MB\nos.memory.max=%" PRId64
                  "MB\nos.memory.total=%" PRId64 "MB\n",
                  f->memory_free_mb, f->memory_max_mb, f->memory_total_mb);
}

/* ---- long answers ---- */

static void answer_mntr(struct server *s, struct connection *c)
{
    metrics_print(s, &c->out);
}

static void answer_stat(struct server *s, struct connection *c)
{
    listing_stat(s, c, &c->out);
}

static void answer_cons(struct server *s, struct connection *c)
{
    listing_cons(s, c, &c->out);
}

static void answer_srvr(struct server *s, struct connection *c)
{
    listing_srvr(s, &c->out);
}

static void answer_dump(struct server *s, struct connection *c)
{
    listing_dump(s, &c->out);
}

static void answer_hash(struct server *s, struct connection *c)
{
    listing_hash(s, &c->out);
}

static void answer_wchs(struct server *s, struct connection *c)
{
    listing_wchs(s, &c->out);
}

static void answer_wchc(struct server *s, struct connection *c)
{
    listing_wchc(s, &c->out);
}

static void answer_wchp(struct server *s, struct connection *c)
{
    listing_wchp(s, &c->out);
}

/* ---- the words ---- */

#define TELNET_INTERRUPT 0xfff4fffdu /* IAC IP IAC DO: a telnet user pressed ^C */

struct word {
    char name[5];
    void (*answer)(struct server *s, struct connection *c);
};

static const struct word words[] = {
    {"conf", answer_conf}, {"cons", answer_cons}, {"crst", answer_crst}, {"dirs", answer_dirs},
    {"dump", answer_dump}, {"envi", answer_envi}, {"gtmk", answer_gtmk}, {"hash", answer_hash},
    {"isro", answer_isro}, {"mntr", answer_mntr}, {"ruok", answer_ruok}, {"srst", answer_srst},
    {"srvr", answer_srvr}, {"stat", answer_stat}, {"stmk", answer_gtmk}, {"wchc", answer_wchc},
    {"wchp", answer_wchp}, {"wchs", answer_wchs},
};

static const struct word *find_word(uint32_t code)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (load_u32((const uint8_t *)words[i].name) == code) {
            return &words[i];
        }
    }
    return NULL;
}

bool four_letter_is_known(uint32_t code)
{
    return code == TELNET_INTERRUPT || find_word(code) != NULL;
}

bool four_letter_word_is_known(const char *name)
{
    return strlen(name) == 4 && find_word(load_u32((const uint8_t *)name)) != NULL;
}

/* ---- the whitelist ---- */

static struct bytes trimmed(const char *text, size_t len)
{
    while (len > 0 && (text[0] == ' ' || text[0] == '\t')) {
        text++;
        len--;
    }
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t')) {
        len--;
    }
    return bytes_of(text, len);
}

bool four_letter_is_listed(const char *list, const char *name)
{
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ",");
        struct bytes entry = trimmed(list, len);

        if (bytes_equal_str(entry, name) || bytes_equal_str(entry, "*")) {
            return true;
        }
        list += len + (list[len] == ',' ? 1 : 0);
    }
    return false;
}

/* `srvr` always: zkServer.sh status needs it. `isro` when clients may look for a read-only server,
 * which they do by asking. */
static bool is_enabled(const struct server *s, const char *name)
{
    return strcmp(name, "srvr") == 0 || (s->options.read_only_mode && strcmp(name, "isro") == 0) ||
           four_letter_is_listed(s->options.words, name);
}

/* ---- answering ---- */

static void count_received(struct server *s, struct connection *c)
{
    c->stats.received++;
    s->stats.packets_received++;
    s->stats.bytes_received_count += 4;
}

static void finish(struct server *s, struct connection *c)
{
    s->stats.packets_sent += c->out.len > 0 ? 1 : 0;
    connection_close_after_flush(s, c);
}

static void answer(struct server *s, struct connection *c, const struct word *word)
{
    log_limited(LOG_INFO, "Processing %s command from /%s:%u", word->name, c->peer.ip,
                c->peer.port);
    word->answer(s, c);
}

size_t four_letter_answer(struct server *s, struct connection *c, struct bytes bytes)
{
    const struct word *word = find_word(load_u32(bytes.data));
    bool sets_mask = word != NULL && strcmp(word->name, "stmk") == 0;

    if (word == NULL) { /* the telnet interrupt */
        count_received(s, c);
    } else if (!is_enabled(s, word->name)) {
        count_received(s, c);
        strbuf_printf(&c->out, "%s is not executed because it is not in the whitelist.\n",
                      word->name);
    } else if (sets_mask && bytes.len < 12) {
        return 0;
    } else {
        count_received(s, c);
        if (sets_mask) {
            s->trace_mask = (int64_t)load_u64(bytes.data + 4);
        }
        answer(s, c, word);
    }
    finish(s, c);
    return bytes.len;
}
