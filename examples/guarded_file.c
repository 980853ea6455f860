/* SPDX-License-Identifier: Apache-2.0 */
/* guarded_file.c - a file that many read and few write, and that refuses a writer who is too late.
 *
 *   guarded_file [SERVERS]
 *
 * The read/write lock keeps readers from seeing half of a change. The token does what no lock can
 * do alone: a writer that was stopped for so long that the lock went to somebody else may come back
 * in the middle of a write. The file remembers the largest token it was written with, and who comes
 * with a smaller one is refused. */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <string.h>

enum { READERS = 4, WRITERS = 2, ROUNDS = 40 };

struct content {
    unsigned long long token; /* of the last writer */
    long first, second;       /* always the same, or somebody saw half of a change */
};

static int read_file(const char *file, struct content *out)
{
    FILE *f = fopen(file, "r");
    int n = f == NULL ? 0 : fscanf(f, "%llu %ld %ld", &out->token, &out->first, &out->second);

    if (f != NULL) {
        fclose(f);
    }
    return n == 3;
}

/* The storage's side of fencing: 0, or -1 for a token that is out of date. */
static int write_file(const char *file, unsigned long long token, long value)
{
    struct content now = {0, 0, 0};
    FILE *f;

    if (read_file(file, &now) && token < now.token) {
        return -1;
    }
    f = fopen(file, "w");
    if (f == NULL) {
        perror(file);
        exit(1);
    }
    fprintf(f, "%llu %ld ", token, value);
    fflush(f);
    fprintf(f, "%ld\n", value);
    fclose(f);
    return 0;
}

static int write_often(const char *file, struct pawl_lock *writer)
{
    struct content now = {0, 0, 0};

    for (int i = 0; i < ROUNDS; i++) {
        check(pawl_lock_acquire(writer, PATIENCE_MS), "acquire to write");
        read_file(file, &now);
        if (write_file(file, pawl_lock_token(writer), now.first + 1) != 0) {
            printf("refused a writer who holds the lock\n");
            return 1;
        }
        check(pawl_lock_release(writer), "release");
    }
    printf("wrote %d times\n", ROUNDS);
    return 0;
}

static int read_often(const char *file, struct pawl_lock *reader)
{
    struct content now = {0, 0, 0};

    for (int i = 0; i < ROUNDS; i++) {
        check(pawl_lock_acquire(reader, PATIENCE_MS), "acquire to read");
        if (read_file(file, &now) && now.first != now.second) {
            printf("saw half of a change\n");
            return 1;
        }
        check(pawl_lock_release(reader), "release");
    }
    printf("read %d times\n", ROUNDS);
    return 0;
}

static int work(int number, const char *servers, const char *file)
{
    struct pawl_client *c = connect_to(servers);
    struct pawl_rwlock *rw;
    int rc;

    check(pawl_rwlock_new(c, "/example/file", NULL, &rw), "lock");
    rc = number <= WRITERS ? write_often(file, pawl_rwlock_writer(rw))
                           : read_often(file, pawl_rwlock_reader(rw));
    pawl_rwlock_free(rw);
    pawl_client_close(c);
    return rc;
}

static int supervise(const char *self, const char *servers, const char *file)
{
    struct pawl_client *c = connect_to(servers);
    struct content now = {0, 0, 0};
    int failed, good;

    for (int i = 1; i <= WRITERS + READERS; i++) {
        start_worker(self, i, servers, file, STDOUT_FILENO);
    }
    failed = wait_for_workers();
    good = read_file(file, &now) && failed == 0 && now.first == (long)WRITERS * ROUNDS;
    printf("a writer from the past, with token 1: %s\n",
           write_file(file, 1, 0) != 0 ? "refused" : "ACCEPTED");
    good = good && write_file(file, 1, 0) != 0;
    printf("%s: %ld changes of %d, no half of one was seen\n", good ? "CORRECT" : "WRONG",
           now.first, WRITERS * ROUNDS);
    pawl_client_close(c);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/guarded-file-XXXXXX", local[64], file[64];
    int rc;

    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        return work(atoi(argv[2]), argv[3], argv[4]);
    }
    make_folder(folder);
    snprintf(local, sizeof(local), "local:%s/coordination", folder);
    snprintf(file, sizeof(file), "%s/file", folder);
    rc = supervise(argv[0], argc > 1 ? argv[1] : local, file);
    remove_folder(folder);
    return rc;
}
