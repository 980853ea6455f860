/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of strangers, to one who accepts and to one who connects: nobody gets in who does not know
 * a password, and no server is believed that does not. The input is taken apart at zero bytes. */
#include "fuzz.h"
#include "pawl/error.h"
#include "sasl/exchange.h"
#include "sasl/login.h"

static struct sasl_login *login(void)
{
    static struct sasl_login *l;
    char why[SASL_WHY_BYTES];

    if (l == NULL) {
        l = sasl_login_new();
        MUST(sasl_login_read_users(l, bytes_str("bob:not to be guessed"), why, sizeof(why)) ==
             PAWL_OK);
        MUST(sasl_login_read_self(l, bytes_str("bob:not to be guessed"), why, sizeof(why)) ==
             PAWL_OK);
    }
    return l;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool accepts = take_choice(&data, &size, 2) == 0;
    struct sasl_exchange *x =
        accepts ? sasl_exchange_accept(login(), SASL_CLIENT_AND_SERVER)
                : sasl_exchange_dial(login(), SASL_CLIENT_AND_SERVER, "localhost");
    struct bytes out;
    size_t at = 0;
    int rc = 0;

    MUST(x != NULL);
    if (sasl_exchange_step(x, bytes_str(""), &out) == 0) {
        while (rc == 0 && at <= size) {
            const uint8_t *end = at == size ? NULL : memchr(data + at, 0, size - at);
            size_t len = end == NULL ? size - at : (size_t)(end - data) - at;

            rc = sasl_exchange_step(x, len == 0 ? bytes_str("") : bytes_of(data + at, len), &out);
            at += len + 1;
        }
    }
    MUST(rc != 1);
    MUST(sasl_exchange_name(x) == NULL);
    sasl_exchange_free(x);
    return 0;
}
