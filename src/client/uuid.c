/* SPDX-License-Identifier: Apache-2.0 */
#include "client/uuid.h"

#include <stdio.h>

#include "client/engine.h"

/* With a seed everything random comes from it, and a run can be had again. */
static bool uuid_draw(struct engine *e, uint8_t *out, size_t len)
{
    if (!e->seeded) {
        return machine_random(out, len);
    }
    engine_lock(e);
    for (size_t i = 0; i < len; i++) {
        out[i] = (uint8_t)prng_next(&e->random);
    }
    engine_unlock(e);
    return true;
}

int uuid_text(struct engine *e, char out[UUID_TEXT_BYTES])
{
    uint8_t b[16];

    if (!uuid_draw(e, b, sizeof(b))) {
        return PAWL_ERR_SYSTEM;
    }
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(out, UUID_TEXT_BYTES,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
    return 0;
}
