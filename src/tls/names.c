/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - subjects and names of certificates as text.
 *
 * An ACL of the scheme x509 has a subject as X500Principal.getName() of Java prints it, so this has
 * to be the same to the letter. RFC 2253 with Java's choices: the last part comes first; the
 * keywords below only, all other types as a dotted number; "=" and "#" are escaped wherever they
 * stand, blanks at both ends; what is no string is "#" and the bytes of its DER, in lower case. */
#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/objects.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "tls/tls_internal.h"

static const struct {
    int nid;
    const char *keyword;
} keywords[] = {
    {NID_commonName, "CN"},        {NID_countryName, "C"},
    {NID_localityName, "L"},       {NID_stateOrProvinceName, "ST"},
    {NID_organizationName, "O"},   {NID_organizationalUnitName, "OU"},
    {NID_streetAddress, "STREET"}, {NID_domainComponent, "DC"},
    {NID_userId, "UID"},
};

static const char *keyword_of(const ASN1_OBJECT *type)
{
    int nid = OBJ_obj2nid(type);

    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
        if (nid == keywords[i].nid) {
            return keywords[i].keyword;
        }
    }
    return NULL;
}

static bool is_string(const ASN1_STRING *value)
{
    switch (ASN1_STRING_type(value)) {
    case V_ASN1_PRINTABLESTRING:
    case V_ASN1_UTF8STRING:
    case V_ASN1_T61STRING:
    case V_ASN1_IA5STRING:
    case V_ASN1_GENERALSTRING:
    case V_ASN1_BMPSTRING:
    case V_ASN1_UNIVERSALSTRING:
        return true;
    default:
        return false;
    }
}

static void print_hex(const ASN1_STRING *value, struct strbuf *out)
{
    ASN1_TYPE any = {.type = ASN1_STRING_type(value),
                     .value.asn1_string = (ASN1_STRING *)(uintptr_t)value};
    unsigned char *der = NULL;
    int len = i2d_ASN1_TYPE(&any, &der);

    strbuf_append_str(out, "#");
    for (int i = 0; i < len; i++) {
        strbuf_printf(out, "%02x", der[i]);
    }
    OPENSSL_free(der);
}

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\r';
}

static void print_text(const unsigned char *text, size_t len, struct strbuf *out)
{
    size_t lead = 0, trail = len;

    while (lead < len && is_blank(text[lead])) {
        lead++;
    }
    while (trail > lead && is_blank(text[trail - 1])) {
        trail--;
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\0') {
            strbuf_append_str(out, "\\00");
            continue;
        }
        if (i < lead || i >= trail || strchr(",=+<>#;\"\\", text[i]) != NULL) {
            strbuf_append_str(out, "\\");
        }
        strbuf_append(out, &text[i], 1);
    }
}

static void print_value(const ASN1_STRING *value, bool has_keyword, struct strbuf *out)
{
    unsigned char *utf8 = NULL;
    int len;

    if (!has_keyword || !is_string(value)) {
        print_hex(value, out);
        return;
    }
    len = ASN1_STRING_to_UTF8(&utf8, value);
    if (len < 0) {
        print_hex(value, out);
        return;
    }
    print_text(utf8, (size_t)len, out);
    OPENSSL_free(utf8);
}

static void print_entry(const X509_NAME_ENTRY *entry, struct strbuf *out)
{
    const ASN1_OBJECT *type = X509_NAME_ENTRY_get_object(entry);
    const char *keyword = keyword_of(type);
    char number[128];

    if (keyword == NULL) {
        OBJ_obj2txt(number, sizeof(number), type, 1);
    }
    strbuf_append_str(out, keyword != NULL ? keyword : number);
    strbuf_append_str(out, "=");
    print_value(X509_NAME_ENTRY_get_data(entry), keyword != NULL, out);
}

/* The parts from the last to the first; entries of one part in their own order, with "+". */
void tls_name_print(const X509_NAME *name, struct strbuf *out)
{
    int end = X509_NAME_entry_count(name);

    while (end > 0) {
        int set = X509_NAME_ENTRY_set(X509_NAME_get_entry(name, end - 1));
        int begin = end - 1;

        while (begin > 0 && X509_NAME_ENTRY_set(X509_NAME_get_entry(name, begin - 1)) == set) {
            begin--;
        }
        for (int i = begin; i < end; i++) {
            strbuf_append_str(out, i > begin ? "+" : "");
            print_entry(X509_NAME_get_entry(name, i), out);
        }
        strbuf_append_str(out, begin > 0 ? "," : "");
        end = begin;
    }
}

/* ---- for messages: no control characters, and no more than there is room for ---- */

static void take_text(struct strbuf *from, char *out, size_t size)
{
    size_t n = from->len < size - 1 ? from->len : size - 1;

    for (size_t i = 0; i < n; i++) {
        out[i] = from->data[i] < ' ' || from->data[i] == 0x7f ? '?' : (char)from->data[i];
    }
    out[n] = '\0';
    strbuf_fini(from);
}

void tls_name_text(const X509_NAME *name, char *out, size_t size)
{
    struct strbuf text;

    strbuf_init(&text, 64 << 10);
    tls_name_print(name, &text);
    take_text(&text, out, size);
}

static void print_address(const ASN1_OCTET_STRING *ip, struct strbuf *out)
{
    char text[INET6_ADDRSTRLEN];
    int len = ASN1_STRING_length(ip);

    if ((len == 4 || len == 16) &&
        inet_ntop(len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(ip), text, sizeof(text))) {
        strbuf_append_str(out, text);
    }
}

static void print_common_name(const X509 *certificate, struct strbuf *out)
{
    const X509_NAME *subject = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);

    if (at >= 0) {
        print_value(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)), true, out);
    }
}

void tls_names_of(const X509 *certificate, char *out, size_t size)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    struct strbuf text;

    strbuf_init(&text, 64 << 10);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

        if (name->type == GEN_DNS || name->type == GEN_IPADD) {
            strbuf_append_str(&text, text.len > 0 ? ", " : "");
        }
        if (name->type == GEN_DNS) {
            strbuf_append(&text, ASN1_STRING_get0_data(name->d.dNSName),
                          (size_t)ASN1_STRING_length(name->d.dNSName));
        } else if (name->type == GEN_IPADD) {
            print_address(name->d.iPAddress, &text);
        }
    }
    GENERAL_NAMES_free(names);
    if (text.len == 0) {
        print_common_name(certificate, &text);
    }
    if (text.len == 0) {
        strbuf_append_str(&text, "nobody");
    }
    take_text(&text, out, size);
}

void tls_time_text(const ASN1_TIME *time, char *out, size_t size)
{
    struct tm tm;

    if (time == NULL || ASN1_TIME_to_tm(time, &tm) != 1 ||
        strftime(out, size, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0) {
        snprintf(out, size, "an unknown time");
    }
}
