/* SPDX-License-Identifier: Apache-2.0 */
/* auth.h - how somebody shows who it is, and what an ACL lets it do.
 *
 * Schemes: world, auth (in requests only), ip, digest, x509, sasl, super. */
#ifndef PAWL_SERVER_AUTH_H
#define PAWL_SERVER_AUTH_H

#include "server/identity.h"
#include "wire/records.h"

struct acl_table;

struct auth_options {
    bool skip_acl;
    bool digest_enabled;
    const char *digest_algorithm; /* "SHA1" */
    const char *super_digest;     /* "super:hash"; NULL: no super user */
    const char *enforced_schemes; /* "digest, ip": what a session must have; NULL: nothing */
    bool x509_enabled;            /* clients may come with certificates */
    const char *x509_super;       /* whose subject is the super user's; NULL: nobody's */
    bool sasl_enabled;            /* clients may authenticate with SASL */
    bool sasl_keep_failed;        /* who fails may stay, as nobody in particular */
    bool sasl_remove_host, sasl_remove_realm; /* from names of Kerberos */
    const char *sasl_realm;                   /* our own realm of Kerberos; NULL: none */
    const char *sasl_any; /* an id in ACLs that stands for whoever has authenticated; NULL: none */
    const char *const *sasl_supers; /* names of super users */
    size_t n_sasl_supers;
};

/* A client that comes with a certificate of this subject. */
void auth_add_certificate(struct identity *i, const struct auth_options *o, const char *subject);

/* A client that has authenticated with SASL under this name. PAWL_OK, or PAWL_ERR_AUTH_FAILED when
 * it is no name for anybody here. */
int auth_add_sasl(struct identity *i, const struct auth_options *o, const char *name);

/* Whether sessions must authenticate with SASL, or may do so where one of several is asked for. */
bool auth_insists_on_sasl(const struct auth_options *o);

/* An auth packet of a client. PAWL_OK, or PAWL_ERR_AUTH_FAILED and the connection is to be closed.
 */
int auth_add(struct identity *i, const struct auth_options *o, struct bytes scheme,
             struct bytes auth);

/* Whether one of the schemes that are insisted upon has been shown. */
bool auth_is_sufficient(const struct identity *i, const struct auth_options *o);

/* Whether list `acl` of the table gives any permission of `perms` to `who`, with those ids that are
 * in force. */
bool auth_allows(struct identity *who, const struct auth_options *o, const struct acl_table *table,
                 uint32_t acl, int32_t perms);

/* The list of a create or setACL request as it will be stored: duplicates gone, `auth` replaced by
 * the ids of who asks; appended to `out` with its count. PAWL_OK or PAWL_ERR_INVALID_ACL. */
int auth_fix_acl(struct identity *who, const struct auth_options *o, const struct acl_list *acl,
                 struct strbuf *out);

/* What whoAmI shows of an id: for digest the part before ':', nothing for a scheme unknown here. */
struct bytes auth_user(const struct auth_id *id);

/* A digest id with its hash replaced by "x"; others as they are. Appends an Id's string. */
void auth_write_redacted(struct strbuf *out, const struct acl_entry *e);

bool auth_scheme_is_known(const char *scheme);

/* Whether ids of the scheme digest can be made with this hash. */
bool auth_digest_is_known(const char *algorithm);

#endif
