/* SPDX-License-Identifier: Apache-2.0 */
/* A file of users: what was read, written as such a file, is read as the same. */
#include "fuzz.h"
#include "pawl/error.h"
#include "sasl/login.h"

static bool recode(struct bytes input, int choice, struct strbuf *out)
{
    struct sasl_login *l = sasl_login_new();
    char why[SASL_WHY_BYTES];
    bool good = sasl_login_read_users(l, input, why, sizeof(why)) == PAWL_OK;

    (void)choice;
    for (size_t i = 0; good && i < l->n_users; i++) {
        strbuf_printf(out, "%s:%s\n", l->users[i].name, l->users[i].password);
    }
    sasl_login_unref(l);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0) {
        must_be_stable(recode, bytes_of(data, size), 0);
    }
    return 0;
}
