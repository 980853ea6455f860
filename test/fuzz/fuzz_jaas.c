/* SPDX-License-Identifier: Apache-2.0 */
/* A JAAS file: what comes out of it is within its text, and a fault has a line of it. */
#include "fuzz.h"
#include "pawl/error.h"
#include "sasl/jaas.h"
#include "sasl/login.h"

static bool look(void *arg, const char *module, const char *option, const char *value)
{
    size_t *n = arg;

    *n += strlen(module) + (option == NULL ? 0 : strlen(option) + strlen(value));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sasl_login *l = sasl_login_new();
    char why[SASL_WHY_BYTES];
    struct jaas_error error;
    size_t n = 0;
    int n_modules = jaas_parse(bytes_of(data, size), "Server", look, &n, &error);
    int lines = 1;

    for (size_t i = 0; i < size; i++) {
        lines += data[i] == '\n' ? 1 : 0;
    }
    MUST(n_modules >= -1);
    MUST(n_modules >= 0 || (error.line >= 1 && error.line <= lines && error.what[0] != '\0'));
    if (sasl_login_read_jaas(l, bytes_of(data, size), "Server", why, sizeof(why)) == PAWL_OK) {
        MUST(n_modules > 0);
        for (size_t i = 0; i < l->n_users; i++) {
            MUST(sasl_login_password(l, bytes_str(l->users[i].name)) == l->users[i].password);
        }
    }
    sasl_login_unref(l);
    return 0;
}
