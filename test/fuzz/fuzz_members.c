/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that members tell each other. */
#include "fuzz.h"
#include "quorum/config.h"

static bool recode(struct bytes input, int choice, struct strbuf *out)
{
    struct quorum_config c;
    struct strbuf why;
    bool ok;

    (void)choice;
    strbuf_init(&why, 512);
    ok = quorum_config_read(&c, input, &why);
    MUST(ok || c.n_members == 0);
    if (ok) {
        MUST(quorum_config_contains(&c, &c.voters) || c.hierarchical);
        MUST(!quorum_config_contains(&c, &QUORUM_SET_EMPTY));
        quorum_config_write(&c, out);
        quorum_config_fini(&c);
    }
    strbuf_fini(&why);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    must_be_stable(recode, bytes_of(data, size), 0);
    return 0;
}
