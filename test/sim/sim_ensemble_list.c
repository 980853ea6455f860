/* SPDX-License-Identifier: Apache-2.0 */
#include "sim_ensemble_list.h"

#include <stdio.h>

#include "base/assert.h"
#include "quorum/history.h"
#include "sim_ensemble_toy.h"

#define MARK UINT64_C(0xf1)

enum { SET_MASK = (1 << LIST_MEMBERS) - 1 };

uint64_t sim_list_make(uint32_t voters, uint32_t observers, int64_t version)
{
    uint64_t epoch = (uint64_t)zxid_epoch(version), counter = (uint64_t)zxid_counter(version);

    ASSERT(epoch <= UINT16_MAX && counter <= UINT16_MAX);
    return MARK << 56 | (uint64_t)(voters & SET_MASK) << 44 |
           (uint64_t)(observers & SET_MASK) << 32 | epoch << 16 | counter;
}

bool sim_list_is(uint64_t value)
{
    return value >> 56 == MARK;
}

uint32_t sim_list_voters(uint64_t value)
{
    return (uint32_t)(value >> 44) & SET_MASK;
}

uint32_t sim_list_observers(uint64_t value)
{
    return (uint32_t)(value >> 32) & SET_MASK;
}

int64_t sim_list_version(uint64_t value)
{
    return zxid_make((int64_t)(value >> 16 & UINT16_MAX), (int64_t)(value & UINT16_MAX));
}

uint64_t sim_list_of(const struct quorum_config *config)
{
    uint32_t sets[2] = {0, 0};

    for (size_t i = 0; i < config->n_members; i++) {
        sets[config->member[i].observer] |= (uint32_t)1 << (config->member[i].id - 1);
    }
    return sim_list_make(sets[0], sets[1], config->version);
}

void sim_list_config(uint64_t value, struct quorum_config *out)
{
    uint32_t voters = sim_list_voters(value), observers = sim_list_observers(value);
    struct strbuf why;
    char line[64];

    strbuf_init(&why, STRBUF_NO_LIMIT);
    quorum_config_init(out);
    for (int i = 0; i < LIST_MEMBERS; i++) {
        if ((voters | observers) >> i & 1) {
            snprintf(line, sizeof(line), "127.0.0.1:%d:%d%s", 2001 + i, 3001 + i,
                     voters >> i & 1 ? "" : ":observer");
            ASSERT(quorum_config_add_server(out, i + 1, line, false, &why));
        }
    }
    out->version = sim_list_version(value);
    strbuf_fini(&why);
}

bool sim_list_text(struct bytes payload, struct bytes *text)
{
    static struct strbuf out;
    struct quorum_config config;
    uint64_t value = toy_number_read(payload);

    if (!sim_list_is(value)) {
        return false;
    }
    strbuf_fini(&out);
    strbuf_init(&out, STRBUF_NO_LIMIT);
    sim_list_config(value, &config);
    quorum_config_write(&config, &out);
    quorum_config_fini(&config);
    *text = strbuf_bytes(&out);
    return true;
}
