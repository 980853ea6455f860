/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/health.h"

#include <inttypes.h>

static bool say(struct strbuf *out, bool good, const char *what)
{
    strbuf_printf(out, "[%c] %s\n", good ? '+' : '-', what);
    return good;
}

static bool say_loop(const struct host_health *h, int64_t now_us, struct strbuf *out)
{
    int64_t age_us = now_us > h->turned_us ? now_us - h->turned_us : 0;
    bool good = age_us < HEALTH_STUCK_US;

    strbuf_printf(out, "[%c] loop: it turned %" PRId64 " ms ago\n", good ? '+' : '-',
                  age_us / 1000);
    return good;
}

static bool say_serving(const struct host_health *h, struct strbuf *out)
{
    switch (h->role) {
    case ROLE_NONE:
        return say(out, false, "serving: it looks for a leader, and takes no clients");
    case ROLE_READ_ONLY:
        return say(out, false, "serving: it finds no leader, and takes read-only clients alone");
    default:
        break;
    }
    if (!h->takes_clients) {
        return say(out, false, "serving: it leads, and leaves clients to others (leaderServes=no)");
    }
    strbuf_printf(out, "[+] serving: as %s\n", role_name(h->role));
    return true;
}

bool health_live(const struct host_health *h, int64_t now_us, struct strbuf *out)
{
    bool good = h == NULL ? say(out, true, "loading: the data folder is being read")
                          : say_loop(h, now_us, out);

    strbuf_append_str(out, good ? "alive\n" : "stuck\n");
    return good;
}

bool health_ready(const struct host_health *h, int64_t now_us, struct strbuf *out)
{
    bool good;

    if (h == NULL) {
        good = say(out, false, "loading: the data folder is being read");
    } else {
        good = say_loop(h, now_us, out);
        good = say_serving(h, out) && good;
    }
    strbuf_append_str(out, good ? "ready\n" : "not ready\n");
    return good;
}
