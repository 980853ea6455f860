/* SPDX-License-Identifier: Apache-2.0 */
/* Instances of services and their JSON, compared with what Curator wrote. */
#include <stdlib.h>

#include "lib/test.h"
#include "lib/vectors.h"
#include "pawl/discovery.h"

#define FILE_NAME VECTORS "/curator/servicediscovery.txt"

/* Whether Curator wrote exactly this, between quotes or behind a colon to the end of the line. */
static void assert_recorded(const char *json)
{
    struct bytes file = vectors_file(FILE_NAME);
    const char *at = strstr((const char *)file.data, json);
    char behind;

    if (at == NULL) {
        print_error("not recorded: %s\n", json);
    }
    assert_non_null(at);
    behind = at[strlen(json)];
    assert_true(behind == '"' || behind == '\n');
    free((void *)(uintptr_t)file.data);
}

static void assert_written(const struct pawl_instance *i, const char *expected)
{
    struct pawl_instance *back;
    char *json, *again;

    assert_int_equal(pawl_instance_to_json(i, &json), 0);
    assert_string_equal(json, expected);
    assert_int_equal(pawl_instance_from_json((struct pawl_bytes){json, strlen(json)}, &back), 0);
    if (back->address == NULL) {
        back->address = "";
    }
    assert_int_equal(pawl_instance_to_json(back, &again), 0);
    assert_string_equal(again, expected);
    pawl_instance_free(back);
    free(json);
    free(again);
}

#define WEB_1                                                                                    \
    "{\"name\":\"web\",\"id\":\"id-1\",\"address\":\"10.1.2.3\",\"port\":8080,\"sslPort\":null," \
    "\"payload\":{\"@class\":\"Disc$Pay\",\"role\":\"web\",\"weight\":3},"                       \
    "\"registrationTimeUTC\":1600000000000,\"serviceType\":\"DYNAMIC\",\"uriSpec\":{\"parts\":[" \
    "{\"value\":\"scheme\",\"variable\":true},{\"value\":\"://\",\"variable\":false},"           \
    "{\"value\":\"address\",\"variable\":true},{\"value\":\":\",\"variable\":false},"            \
    "{\"value\":\"port\",\"variable\":true},{\"value\":\"/x\",\"variable\":false}]}}"

static void instances_are_written_as_curator_does(void **state)
{
    static const char *const texts[] = {
        WEB_1,
        "{\"name\":\"web\",\"id\":\"id-2\",\"address\":\"10.1.2.3\",\"port\":null,\"sslPort\":8443,"
        "\"payload\":null,\"registrationTimeUTC\":1600000000000,\"serviceType\":\"STATIC\","
        "\"uriSpec\":null}",
        "{\"name\":\"db\",\"id\":\"id-3\",\"address\":\"10.1.2.3\",\"port\":null,\"sslPort\":null,"
        "\"payload\":null,\"registrationTimeUTC\":1600000000000,"
        "\"serviceType\":\"DYNAMIC_SEQUENTIAL\",\"uriSpec\":null}",
        "{\"name\":\"x\",\"id\":\"id-4\",\"address\":\"10.1.2.3\",\"port\":null,\"sslPort\":null,"
        "\"payload\":null,\"registrationTimeUTC\":1600000000000,\"serviceType\":\"DYNAMIC\","
        "\"uriSpec\":null,\"enabled\":false}",
        "{\"name\":\"s\",\"id\":\"i\",\"address\":\"10.1.2.3\",\"port\":null,\"sslPort\":null,"
        "\"payload\":\"str\",\"registrationTimeUTC\":1,\"serviceType\":\"DYNAMIC\",\"uriSpec\":"
        "null}",
        "{\"name\":\"s\",\"id\":\"i\",\"address\":\"10.1.2.3\",\"port\":null,\"sslPort\":null,"
        "\"payload\":{\"@class\":\"java.util.TreeMap\",\"k\":\"v\"},\"registrationTimeUTC\":1,"
        "\"serviceType\":\"DYNAMIC\",\"uriSpec\":null}",
    };
    const struct pawl_instance *const instances[] = {
        PAWL_INSTANCE(.name = "web", .id = "id-1", .address = "10.1.2.3", .port = 8080,
                      .payload = "{\"@class\":\"Disc$Pay\",\"role\":\"web\",\"weight\":3}",
                      .registered_ms = 1600000000000, .uri_spec = "{scheme}://{address}:{port}/x"),
        PAWL_INSTANCE(.name = "web", .id = "id-2", .address = "10.1.2.3", .ssl_port = 8443,
                      .registered_ms = 1600000000000, .type = PAWL_SERVICE_STATIC),
        PAWL_INSTANCE(.name = "db", .id = "id-3", .address = "10.1.2.3",
                      .registered_ms = 1600000000000, .type = PAWL_SERVICE_DYNAMIC_SEQUENTIAL),
        PAWL_INSTANCE(.name = "x", .id = "id-4", .address = "10.1.2.3",
                      .registered_ms = 1600000000000, .disabled = 1),
        PAWL_INSTANCE(.name = "s", .id = "i", .address = "10.1.2.3", .payload = "\"str\"",
                      .registered_ms = 1),
        PAWL_INSTANCE(.name = "s", .id = "i", .address = "10.1.2.3",
                      .payload = "{\"@class\":\"java.util.TreeMap\",\"k\":\"v\"}",
                      .registered_ms = 1),
    };

    (void)state;
    for (size_t i = 0; i < TEST_COUNT(texts); i++) {
        assert_recorded(texts[i]);
        assert_written(instances[i], texts[i]);
    }
}

static void texts_are_escaped_as_jackson_does(void **state)
{
    (void)state;
    assert_written(PAWL_INSTANCE(.name = "a\"b\\c/d\n\t\b\f\r\001\037\177\xc3\xa4", .id = "i",
                                 .address = "", .registered_ms = 1),
                   "{\"name\":\"a\\\"b\\\\c/d\\n\\t\\b\\f\\r\\u0001\\u001F\177\xc3\xa4\","
                   "\"id\":\"i\",\"address\":null,\"port\":null,\"sslPort\":null,\"payload\":null,"
                   "\"registrationTimeUTC\":1,\"serviceType\":\"DYNAMIC\",\"uriSpec\":null}");
}

static struct pawl_instance *read_text(const char *json)
{
    struct pawl_instance *i = NULL;

    assert_int_equal(pawl_instance_from_json((struct pawl_bytes){json, strlen(json)}, &i), 0);
    return i;
}

static void missing_and_unknown_members_are_taken_as_curator_does(void **state)
{
    struct pawl_instance *i;

    (void)state;
    i = read_text("{\"name\":\"s\",\"id\":\"i\",\"address\":\"h\",\"port\":1,\"payload\":null,"
                  "\"registrationTimeUTC\":5,\"serviceType\":\"DYNAMIC\",\"unknown\":1}");
    assert_string_equal(i->address, "h");
    assert_int_equal(i->port, 1);
    assert_int_equal(i->ssl_port, 0);
    assert_int_equal(i->registered_ms, 5);
    assert_false(i->disabled);
    pawl_instance_free(i);
    i = read_text("{\"name\":\"s\",\"id\":\"i\",\"payload\":{\"k\":1}}");
    assert_null(i->address);
    assert_string_equal(i->payload, "{\"k\":1}");
    assert_int_equal(i->registered_ms, 0);
    pawl_instance_free(i);
    i = read_text("{\"name\":\"s\",\"id\":\"i\",\"payload\":\"text\"}");
    assert_string_equal(i->payload, "\"text\"");
    pawl_instance_free(i);
    i = read_text("{\"name\":7,\"port\":\"x\",\"uriSpec\":{\"parts\":[1,{}]},\"enabled\":3}");
    assert_string_equal(i->name, "");
    assert_string_equal(i->uri_spec, "");
    assert_false(i->disabled);
    pawl_instance_free(i);
}

/* R-52 among others */
static void what_is_no_object_is_refused(void **state)
{
    static const char *const bad[] = {"", "null", "[]", "7", "{", "{\"name\":\"x\"", "10.0.0.1"};
    struct pawl_instance *i;
    char *json;

    (void)state;
    for (size_t k = 0; k < TEST_COUNT(bad); k++) {
        assert_int_equal(pawl_instance_from_json((struct pawl_bytes){bad[k], strlen(bad[k])}, &i),
                         PAWL_ERR_CORRUPT);
    }
    assert_int_equal(pawl_instance_from_json((struct pawl_bytes){NULL, 0}, &i), PAWL_ERR_CORRUPT);
    assert_int_equal(
        pawl_instance_to_json(PAWL_INSTANCE(.name = "x", .id = "y", .payload = "{bad"), &json),
        PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(
        pawl_instance_to_json(PAWL_INSTANCE(.name = "x", .id = "y", .uri_spec = "{open"), &json),
        PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(
        pawl_instance_to_json(PAWL_INSTANCE(.name = "x", .id = "y", .uri_spec = "shut}"), &json),
        PAWL_ERR_BAD_ARGUMENTS);
    assert_int_equal(pawl_instance_to_json(PAWL_INSTANCE(.name = "x"), &json),
                     PAWL_ERR_BAD_ARGUMENTS);
}

static void assert_uri(const struct pawl_instance *i, const char *expected)
{
    struct pawl_uri_variable more[] = {{"mine", "yes"}, {"name", "other"}};
    char out[256];

    assert_int_equal(pawl_instance_uri(i, more, 2, out, sizeof(out)), strlen(expected));
    assert_string_equal(out, expected);
}

static void the_uri_has_its_variables_replaced(void **state)
{
    char small[4];

    (void)state;
    assert_uri(PAWL_INSTANCE(.address = "10.1.2.3", .port = 8080,
                             .uri_spec = "{scheme}://{address}:{port}/x"),
               "http://10.1.2.3:8080/x"); /* as recorded */
    assert_uri(PAWL_INSTANCE(.name = "n", .id = "i", .ssl_port = 7, .registered_ms = 5,
                             .type = PAWL_SERVICE_DYNAMIC_SEQUENTIAL,
                             .uri_spec =
                                 "{scheme}/{ name }/{id}/{port}/{ssl-port}/"
                                 "{registration-time-utc}/{service-type}/{[}{]}/{what}{mine}"),
               "https/other/i//7/5/dynamic_sequential/{}/yes");
    assert_uri(PAWL_INSTANCE(.name = "n"), "");
    assert_uri(PAWL_INSTANCE(.uri_spec = "a{}b"), "ab");
    assert_int_equal(
        pawl_instance_uri(PAWL_INSTANCE(.uri_spec = "abcdef"), NULL, 0, small, sizeof(small)), 6);
    assert_string_equal(small, "abc");
    assert_int_equal(pawl_instance_uri(PAWL_INSTANCE(.uri_spec = "{{"), NULL, 0, small, 4),
                     PAWL_ERR_BAD_ARGUMENTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_are_written_as_curator_does),
        cmocka_unit_test(texts_are_escaped_as_jackson_does),
        cmocka_unit_test(missing_and_unknown_members_are_taken_as_curator_does),
        cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(the_uri_has_its_variables_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
