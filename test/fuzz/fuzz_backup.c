/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a backup. Its sum is made right for half of them: what it guards is to be read, too.
 */
#include <stdio.h>
#include <string.h>

#include "base/checksum.h"
#include "cli/files/backup_list.h"
#include "fuzz.h"

static void read_and_write(struct bytes text)
{
    struct backup_list l, again;
    struct strbuf out;

    backup_list_init(&l);
    if (backup_list_read(&l, text) == NULL) {
        strbuf_init(&out, STRBUF_NO_LIMIT);
        backup_list_write(&l, &out);
        backup_list_init(&again);
        MUST(backup_list_read(&again, strbuf_bytes(&out)) == NULL);
        MUST(again.zxid == l.zxid && again.n == l.n);
        for (size_t i = 0; i < l.n; i++) {
            MUST(strchr(l.files[i].name, '/') == NULL);
        }
        backup_list_fini(&again);
        strbuf_fini(&out);
    }
    backup_list_fini(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int is_mended = take_choice(&data, &size, 2);
    struct strbuf text;

    strbuf_init(&text, STRBUF_NO_LIMIT);
    strbuf_append(&text, data, size);
    if (is_mended) {
        strbuf_printf(&text, "end %08x\n", (unsigned)checksum_crc32(0, data, size));
    }
    read_and_write(strbuf_bytes(&text));
    strbuf_fini(&text);
    return 0;
}
