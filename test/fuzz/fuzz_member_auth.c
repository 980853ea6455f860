/* SPDX-License-Identifier: Apache-2.0 */
/* SASL between members, against one who does not know the password: as who comes (where it is
 * required), and as who is dialled. Nobody gets in, and no more is used than there is. */
#include "daemon/member_auth.h"
#include "fuzz.h"
#include "pawl/error.h"
#include "sasl/login.h"

static struct sasl_login *login(void)
{
    static struct sasl_login *l;
    char why[SASL_WHY_BYTES];

    if (l == NULL) {
        l = sasl_login_new();
        MUST(sasl_login_set_self(l, "zk", "not to be guessed") == PAWL_OK);
        MUST(sasl_login_read_users(l, bytes_str("zk:not to be guessed"), why, sizeof(why)) ==
             PAWL_OK);
    }
    return l;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool accepts = take_choice(&data, &size, 2) == 0;
    struct member_sasl rules = {.dials = login(), .accepts = login(), .is_required = true};
    enum member_auth_step step;
    struct member_auth *a;
    const char *why = "";
    struct strbuf out;
    size_t used;

    strbuf_init(&out, STRBUF_NO_LIMIT);
    a = accepts ? member_auth_accept(&rules) : member_auth_dial(&rules, "localhost", &out);
    do {
        step = member_auth_take(a, bytes_of(data, size), &used, &out, &why);
        MUST(used <= size);
        data += used;
        size -= used;
    } while (step == MEMBER_AUTH_MORE && used > 0);
    MUST(step == MEMBER_AUTH_MORE || step == MEMBER_AUTH_FAILED);
    MUST(out.len < 1 << 20);
    member_auth_free(a);
    strbuf_fini(&out);
    return 0;
}
