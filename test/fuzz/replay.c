/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - drives a fuzz target without libFuzzer.
 *
 *   replay FOLDER|FILE... [-n MUTATIONS] [-s SEED]
 *
 * Gives the target each file, then MUTATIONS inputs made of them by a few random changes. The same
 * seed makes the same inputs, so a failure is repeated by its command line; the input that was
 * given last is written to ./crash-replay when the program aborts. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/prng.h"
#include "fuzz.h"

enum { INPUT_BYTES_MAX = 1 << 20 };

struct corpus {
    struct strbuf *input;
    size_t n;
};

static const uint8_t *current;
static size_t current_size;

static void keep_current(int number)
{
    FILE *f = fopen("crash-replay", "wb");

    if (f != NULL) {
        fwrite(current, 1, current_size, f);
        fclose(f);
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* In memory of its own, so that a read behind the end is a read behind an allocation. */
static void run(struct bytes input)
{
    uint8_t *copy = malloc(input.len > 0 ? input.len : 1);

    MUST(copy != NULL);
    if (input.len > 0) {
        memcpy(copy, input.data, input.len);
    }
    current = copy;
    current_size = input.len;
    LLVMFuzzerTestOneInput(copy, input.len);
    free(copy);
}

static void add_file(struct corpus *c, const char *path)
{
    FILE *f = fopen(path, "rb");
    struct strbuf *input;
    uint8_t part[4096];
    size_t n;

    if (f == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    c->input = realloc(c->input, (c->n + 1) * sizeof(*c->input));
    MUST(c->input != NULL);
    input = &c->input[c->n++];
    strbuf_init(input, INPUT_BYTES_MAX);
    while ((n = fread(part, 1, sizeof(part), f)) > 0) {
        strbuf_append(input, part, n);
    }
    fclose(f);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Sorted: readdir's order is not the same everywhere, and the seed's meaning hangs on it. */
static void add(struct corpus *c, const char *path)
{
    struct dirent **entries;
    struct stat info;
    char name[4096];
    int n;

    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        add_file(c, path);
        return;
    }
    n = scandir(path, &entries, NULL, by_name);
    MUST(n >= 0);
    for (int i = 0; i < n; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
            add_file(c, name);
        }
        free(entries[i]);
    }
    free(entries);
}

static size_t at(struct prng *random, const struct strbuf *b)
{
    return (size_t)prng_below(random, b->len);
}

/* One change of the kinds that decoders get wrong: a bit, a length, a cut, a piece of another. */
static void mutate(struct strbuf *b, struct prng *random, const struct corpus *c)
{
    static const uint32_t edges[] = {0,          1,          0x7f,       0xff,      0xffff,
                                     0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    const struct strbuf *other = &c->input[prng_below(random, c->n)];
    size_t from;
    uint32_t edge = __builtin_bswap32(edges[prng_below(random, sizeof(edges) / sizeof(edges[0]))]);

    if (b->len == 0) {
        strbuf_append(b, &edge, 4);
        return;
    }
    switch (prng_below(random, 6)) {
    case 0:
        b->data[at(random, b)] ^= (uint8_t)(1u << prng_below(random, 8));
        break;
    case 1:
        b->data[at(random, b)] = (uint8_t)prng_next(random);
        break;
    case 2:
        from = at(random, b);
        memcpy(b->data + from, &edge, b->len - from < 4 ? b->len - from : 4);
        break;
    case 3:
        b->len = at(random, b);
        break;
    case 4:
        from = (size_t)prng_below(random, other->len + 1);
        strbuf_append(b, other->data + from, other->len - from);
        break;
    default: /* a piece taken out, so that what follows moves */
        from = at(random, b);
        memmove(b->data + from, b->data + from + (b->len - from + 1) / 2, (b->len - from) / 2);
        b->len -= (b->len - from + 1) / 2;
        break;
    }
}

static void run_mutations(const struct corpus *c, uint64_t n, uint64_t seed)
{
    struct prng random;
    struct strbuf b;

    prng_seed(&random, seed);
    strbuf_init(&b, INPUT_BYTES_MAX);
    for (uint64_t i = 0; i < n; i++) {
        strbuf_clear(&b);
        strbuf_append_bytes(&b, strbuf_bytes(&c->input[prng_below(&random, c->n)]));
        for (uint64_t changes = 1 + prng_below(&random, 4); changes > 0; changes--) {
            mutate(&b, &random, c);
        }
        run(strbuf_bytes(&b));
    }
    strbuf_fini(&b);
}

int main(int argc, char **argv)
{
    struct corpus corpus = {0};
    uint64_t mutations = 0, seed = 1;

    signal(SIGABRT, keep_current);
    signal(SIGSEGV, keep_current);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-n") == 0 && i + 1 < argc) {
            mutations = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "-s") == 0 && i + 1 < argc) {
            seed = strtoull(argv[++i], NULL, 10);
        } else {
            add(&corpus, argv[i]);
        }
    }
    if (corpus.n == 0) {
        fprintf(stderr, "%s: no input files\n", argv[0]);
        return 1;
    }
    for (size_t i = 0; i < corpus.n; i++) {
        run(strbuf_bytes(&corpus.input[i]));
    }
    run_mutations(&corpus, mutations, seed);
    printf("%zu files, %" PRIu64 " mutations, seed %" PRIu64 "\n", corpus.n, mutations, seed);
    for (size_t i = 0; i < corpus.n; i++) {
        strbuf_fini(&corpus.input[i]);
    }
    free(corpus.input);
    return 0;
}
