/* SPDX-License-Identifier: Apache-2.0 */
/* What a client asks for when it wants other members. */
#include "fuzz.h"
#include "pawl/error.h"
#include "quorum/config_change.h"

static const char before[] = "server.1=10.0.0.1:2888:3888:participant;2181\n"
                             "server.2=10.0.0.2:2888:3888:participant;2181\n"
                             "server.3=10.0.0.3:2888:3888:observer;2181\nversion=100000000";

/* What comes of it is read again by all who hear of it. */
static void must_be_a_list(const struct quorum_config *c)
{
    struct quorum_config again;
    struct strbuf text, why;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_init(&why, STRBUF_NO_LIMIT);
    quorum_config_write(c, &text);
    MUST(quorum_config_read(&again, strbuf_bytes(&text), &why));
    MUST(again.version == c->version && again.n_voters == c->n_voters);
    quorum_config_fini(&again);
    strbuf_fini(&text);
    strbuf_fini(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int choice = take_choice(&data, &size, 3);
    struct bytes text = bytes_of(data, size);
    struct config_change change = {.joining = choice == 0 ? text : BYTES_NULL,
                                   .members = choice == 1 ? text : BYTES_NULL,
                                   .leaving = choice == 2 ? text : BYTES_NULL,
                                   .version = 7,
                                   .least_voters = 1 + size % 2};
    struct quorum_config from, to;
    struct strbuf why;

    strbuf_init(&why, STRBUF_NO_LIMIT);
    MUST(quorum_config_read(&from, bytes_str(before), &why));
    if (quorum_config_change(&from, &change, &to, &why) == PAWL_OK) {
        must_be_a_list(&to);
        quorum_config_fini(&to);
    } else {
        MUST(why.len > 0);
    }
    quorum_config_fini(&from);
    strbuf_fini(&why);
    return 0;
}
