/* SPDX-License-Identifier: Apache-2.0 */
#include "server/four_letter.h"

#include <inttypes.h>

#include "base/logging.h"
#include "server/report_text.h"
#include "wire/jute.h"

/* ---- short answers ---- */

static void answer_ruok(struct server *s, struct connection *c)
{
    (void)s;
    strbuf_append_str(&c->out, "imok");
}

static void answer_isro(struct server *s, struct connection *c)
{
    strbuf_append_str(&c->out, !server_takes_clients(s)          ? "null"
                               : s->role->kind == ROLE_READ_ONLY ? "ro"
                                                                 : "rw");
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

/* ---- long answers ---- */

static void answer_stat(struct server *s, struct connection *c)
{
    report_text_stat(s, c, &c->out);
}

static void answer_cons(struct server *s, struct connection *c)
{
    report_text_cons(s, c, &c->out);
}

#define ANSWER_WITH(word)                                             \
    static void answer_##word(struct server *s, struct connection *c) \
    {                                                                 \
        report_text_##word(s, &c->out);                               \
    }

ANSWER_WITH(conf)
ANSWER_WITH(dirs)
ANSWER_WITH(dump)
ANSWER_WITH(envi)
ANSWER_WITH(hash)
ANSWER_WITH(mntr)
ANSWER_WITH(srvr)
ANSWER_WITH(wchc)
ANSWER_WITH(wchp)
ANSWER_WITH(wchs)

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

static const struct word *four_letter_find_word(uint32_t code)
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
    return code == TELNET_INTERRUPT || four_letter_find_word(code) != NULL;
}

bool four_letter_word_is_known(const char *name)
{
    return strlen(name) == 4 && four_letter_find_word(load_u32((const uint8_t *)name)) != NULL;
}

/* ---- the whitelist ---- */

static struct bytes four_letter_trimmed(const char *text, size_t len)
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
        struct bytes entry = four_letter_trimmed(list, len);

        if (bytes_equal_str(entry, name) || bytes_equal_str(entry, "*")) {
            return true;
        }
        list += len + (list[len] == ',' ? 1 : 0);
    }
    return false;
}

/* `srvr` always: zkServer.sh status needs it. `isro` when clients may look for a read-only server,
 * which they do by asking. */
static bool four_letter_is_enabled(const struct server *s, const char *name)
{
    return strcmp(name, "srvr") == 0 || (s->options.read_only_mode && strcmp(name, "isro") == 0) ||
           four_letter_is_listed(s->options.words, name);
}

/* ---- answering ---- */

/* What can be said while there is no leader, too. */
static bool four_letter_is_about_the_process(const char *name)
{
    return four_letter_is_listed("ruok,isro,envi,gtmk,stmk", name);
}

static void four_letter_count_received(struct server *s, struct connection *c)
{
    c->stats.received++;
    s->stats.packets_received++;
    s->stats.bytes_received_count += 4;
}

static void four_letter_finish(struct server *s, struct connection *c)
{
    s->stats.packets_sent += c->out.len > 0 ? 1 : 0;
    connection_close_after_flush(s, c);
}

/* stmk is the only one with an argument: eight bytes that come with it. Without them the connection
 * is closed, without an answer, as by ZooKeeper. */
static bool four_letter_take_argument(struct server *s, const struct word *word, struct bytes bytes)
{
    if (strcmp(word->name, "stmk") != 0) {
        return true;
    }
    if (bytes.len < 12) {
        return false;
    }
    s->trace_mask = (int64_t)load_u64(bytes.data + 4);
    return true;
}

void four_letter_answer(struct server *s, struct connection *c, struct bytes bytes)
{
    const struct word *word = four_letter_find_word(load_u32(bytes.data));

    four_letter_count_received(s, c);
    if (word == NULL) {
        /* the telnet interrupt */
    } else if (!four_letter_is_enabled(s, word->name)) {
        strbuf_printf(&c->out, "%s is not executed because it is not in the whitelist.\n",
                      word->name);
    } else if (four_letter_take_argument(s, word, bytes)) {
        log_limited(LOG_INFO, "Processing %s command from /%s:%u", word->name, c->peer.ip,
                    c->peer.port);
        if (server_takes_clients(s) || four_letter_is_about_the_process(word->name)) {
            word->answer(s, c);
        } else {
            strbuf_append_str(&c->out, "This ZooKeeper instance is not currently serving requests");
            strbuf_append_str(&c->out, strcmp(word->name, "hash") == 0 ? "" : "\n");
        }
    }
    four_letter_finish(s, c);
}
