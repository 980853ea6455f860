/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/log_compare.h"

#include <stdio.h>

#include "cli/files/log_source.h"
#include "cli/files/record_text.h"
#include "cli/json.h"

struct side {
    struct log_source source;
    struct txnlog_record record;
    bool has_one;
};

/* The next that is asked for. */
static void side_next(struct side *side, const struct filter *filter)
{
    do {
        side->has_one = log_source_next(&side->source, &side->record);
    } while (side->has_one && !filter_has_txn(filter, &side->record.txn));
}

static void tell_difference(const struct cli *cli, char mark, const struct side *side)
{
    static const char *const names[] = {['-'] = "left", ['+'] = "right", ['!'] = "changed"};

    if (cli->json) {
        json_open(NULL, '{');
        json_text("difference", names[(int)mark]);
        txn_json(&side->record.txn);
        json_close('{');
    } else {
        printf("%c ", mark);
        txn_print(&side->record.txn, false);
    }
}

static int64_t zxid_of(const struct side *side)
{
    return side->has_one ? side->record.txn.header.zxid : INT64_MAX;
}

static int compare_sides(const struct cli *cli, const struct filter *filter, struct side *left,
                         struct side *right)
{
    int status = EXIT_OK;

    side_next(left, filter);
    side_next(right, filter);
    while ((left->has_one || right->has_one) && !ferror(stdout)) {
        bool is_left = zxid_of(left) <= zxid_of(right), is_right = zxid_of(right) <= zxid_of(left);

        if (!is_left || !is_right || !bytes_equal(left->record.payload, right->record.payload)) {
            status = EXIT_NO;
            if (is_left && is_right) {
                tell_difference(cli, '!', left);
                tell_difference(cli, '!', right);
            } else {
                tell_difference(cli, is_left ? '-' : '+', is_left ? left : right);
            }
        }
        if (is_left) {
            side_next(left, filter);
        }
        if (is_right) {
            side_next(right, filter);
        }
    }
    return status;
}

int log_compare(struct cli *cli, const struct filter *filter, const char *left, const char *right,
                size_t limit_bytes)
{
    struct side sides[2] = {0};
    int status = log_source_open(&sides[0].source, cli, left, &filter->zxids, limit_bytes);
    int judged;

    if (status == EXIT_OK) {
        status = log_source_open(&sides[1].source, cli, right, &filter->zxids, limit_bytes);
    }
    if (status == EXIT_OK) {
        status = compare_sides(cli, filter, &sides[0], &sides[1]);
        fflush(stdout);
        for (int i = 0; i < 2; i++) {
            judged = log_source_judge(&sides[i].source);
            status = judged != EXIT_OK ? judged : status;
        }
    }
    log_source_close(&sides[0].source);
    log_source_close(&sides[1].source);
    return status;
}
