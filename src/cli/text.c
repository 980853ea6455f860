/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

static const char perm_letters[] = "cdrwa";
static const int32_t perm_bits[] = {PAWL_PERM_CREATE, PAWL_PERM_DELETE, PAWL_PERM_READ,
                                    PAWL_PERM_WRITE, PAWL_PERM_ADMIN};

static void print_java_time(const char *name, int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    char text[64];

    localtime_r(&seconds, &tm);
    strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Z %Y", &tm);
    printf("%s = %s\n", name, text);
}

void text_stat(const struct pawl_stat *s)
{
    printf("cZxid = 0x%" PRIx64 "\n", (uint64_t)s->czxid);
    print_java_time("ctime", s->ctime);
    printf("mZxid = 0x%" PRIx64 "\n", (uint64_t)s->mzxid);
    print_java_time("mtime", s->mtime);
    printf("pZxid = 0x%" PRIx64 "\n", (uint64_t)s->pzxid);
    printf("cversion = %" PRId32 "\n", s->cversion);
    printf("dataVersion = %" PRId32 "\n", s->version);
    printf("aclVersion = %" PRId32 "\n", s->aversion);
    printf("ephemeralOwner = 0x%" PRIx64 "\n", (uint64_t)s->ephemeral_owner);
    printf("dataLength = %" PRId32 "\n", s->data_length);
    printf("numChildren = %" PRId32 "\n", s->n_children);
}

void text_time(int64_t ms, char *out, size_t size)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    size_t len;

    localtime_r(&seconds, &tm);
    len = strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(out + len, size - len, ".%03d", (int)(ms % 1000));
}

size_t text_plain(const unsigned char *p, size_t len)
{
    unsigned char c = p[0];
    size_t n = c < 0x80 ? 1 : c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 ? 3 : 2;

    if (n == 1) {
        return c >= 0x20 && c != 0x7f;
    }
    if (c < 0xc2 || c >= 0xf5 || n > len) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if ((n == 2 && c == 0xc2 && p[1] < 0xa0) || /* 80 to 9f are control characters, too */
        (n == 3 && c == 0xe0 && p[1] < 0xa0) || /* shorter would have done */
        (n == 4 && c == 0xf0 && p[1] < 0x90)) {
        return 0;
    }
    return n;
}

static void print_escaped(FILE *to, struct pawl_bytes data, const char *kept)
{
    const unsigned char *p = data.data;

    for (size_t i = 0, n; i < data.len; i += n) {
        n = text_plain(p + i, data.len - i);
        if (n > 0) {
            fwrite(p + i, 1, n, to);
        } else {
            n = 1;
            fprintf(to, p[i] != '\0' && strchr(kept, p[i]) != NULL ? "%c" : "\\x%02x", p[i]);
        }
    }
}

void text_data(struct pawl_bytes data)
{
    const char *p = data.data;

    if (isatty(STDOUT_FILENO)) {
        print_escaped(stdout, data, "\n\t");
        if (data.len == 0 || p[data.len - 1] != '\n') {
            putchar('\n');
        }
    } else if (data.len > 0) {
        fwrite(data.data, 1, data.len, stdout);
    }
}

void text_escaped(struct pawl_bytes data)
{
    print_escaped(stdout, data, "");
}

void text_message(FILE *to, const char *message)
{
    print_escaped(to, (struct pawl_bytes){message, strlen(message)}, "\n\t");
}

void text_line(struct pawl_bytes data)
{
    text_escaped(data);
    putchar('\n');
}

void text_perms(int32_t perms, char out[TEXT_PERMS_BYTES])
{
    int n = 0;

    for (int i = 0; perm_letters[i] != '\0'; i++) {
        if (perms & perm_bits[i]) {
            out[n++] = perm_letters[i];
        }
    }
    out[n] = '\0';
}

int32_t text_perms_of(const char *letters)
{
    int32_t perms = 0;

    for (; *letters != '\0'; letters++) {
        const char *at = strchr(perm_letters, *letters);

        if (at == NULL) {
            return 0;
        }
        perms |= perm_bits[at - perm_letters];
    }
    return perms;
}

/* `entry` is cut up: the scheme ends at the first colon, the id at the last. */
static bool acl_of(char *entry, struct pawl_acl *out)
{
    char *first = strchr(entry, ':'), *last = strrchr(entry, ':');
    int32_t perms;

    if (first == NULL || first == last) {
        return false;
    }
    perms = text_perms_of(last + 1);
    if (perms == 0) {
        return false;
    }
    *first = *last = '\0';
    *out = (struct pawl_acl){
        .perms = perms, .scheme = must_strdup(entry), .id = must_strdup(first + 1)};
    return true;
}

static bool ends_with_perms(const char *at, const char *end)
{
    const char *colon = memrchr(at, ':', (size_t)(end - at));

    return colon != NULL && colon + 1 < end &&
           strspn(colon + 1, perm_letters) == (size_t)(end - colon - 1);
}

/* The next comma; of a certificate's subject (x509:CN=a,O=b:cdrwa) the one behind its permissions.
 */
static char *acl_end(char *entry)
{
    char *end = entry + strcspn(entry, ",");

    while (strncmp(entry, "x509:", 5) == 0 && *end == ',' && !ends_with_perms(entry + 5, end)) {
        end += 1 + strcspn(end + 1, ",");
    }
    return end;
}

/* Cuts it off; NULL at the end. */
static char *next_acl(char **rest)
{
    char *entry = *rest + strspn(*rest, ","), *end = acl_end(entry);

    *rest = *end == '\0' ? end : end + 1;
    *end = '\0';
    return entry < end ? entry : NULL;
}

bool text_acls(const char *text, struct pawl_acls *out, char **bad)
{
    char *copy = must_strdup(text), *rest = copy;
    struct pawl_acl *items = NULL;
    size_t n = 0;

    *bad = NULL;
    for (char *entry = next_acl(&rest); entry != NULL; entry = next_acl(&rest)) {
        items = must_realloc(items, (n + 1) * sizeof(*items));
        if (!acl_of(entry, &items[n])) {
            *bad = must_strdup(entry);
            break;
        }
        n++;
    }
    if (n == 0 && *bad == NULL) {
        *bad = must_strdup(text);
    }
    free(copy);
    *out = (struct pawl_acls){.items = items, .n = n};
    if (*bad != NULL) {
        text_acls_free(out);
    }
    return *bad == NULL;
}

void text_acls_free(struct pawl_acls *acls)
{
    for (size_t i = 0; i < acls->n; i++) {
        free((void *)(uintptr_t)acls->items[i].scheme);
        free((void *)(uintptr_t)acls->items[i].id);
    }
    free((void *)(uintptr_t)acls->items);
    *acls = (struct pawl_acls){0};
}
