/* SPDX-License-Identifier: Apache-2.0 */
/* guarded_file.c - a file that many read and few write, and that refuses a writer who is too late.
 *
 *   guarded_file [SERVERS]
 *
 * The read/write lock keeps readers from seeing half of a change. The token does what no lock can
 * do alone: a writer that was stopped for so long that the lock went to somebody else may come back
 * in the middle of a write. The file remembers the largest token it was written with, and who comes
 * with a smaller one is refused.
 *
 * Such a fence holds only if looking at the token and changing the file are one piece: between the
 * two nobody else may come in, however long the writer sleeps there. That is the business of the
 * storage; a database has transactions for it, and here it is a lock of the operating system, which
 * is held for two system calls and goes with its process. */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <fcntl.h>
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

static void give_up(const char *file)
{
    perror(file);
    exit(1);
}

/* ---- the storage's side of fencing ---- */

static int enter(const char *guard)
{
    struct flock whole;
    int fd = open(guard, O_RDWR | O_CREAT, 0600);

    memset(&whole, 0, sizeof(whole));
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (fd < 0 || fcntl(fd, F_SETLKW, &whole) != 0) {
        give_up(guard);
    }
    return fd; /* closing it leaves */
}

static void write_fresh(const char *fresh, unsigned long long token, long value)
{
    FILE *f = fopen(fresh, "w");

    if (f == NULL || fprintf(f, "%llu %ld %ld\n", token, value, value) < 0 || fclose(f) != 0) {
        give_up(fresh);
    }
}

/* 0, or -1 for a token that is out of date. The long part, writing, is done beside the file; what
 * is done inside the guard is to compare and to rename. */
static int write_file(const char *file, unsigned long long token, long value)
{
    struct content now = {0, 0, 0};
    char fresh[128], guard[128];
    int fd, refused;

    snprintf(fresh, sizeof(fresh), "%s.%ld", file, (long)getpid());
    snprintf(guard, sizeof(guard), "%s.guard", file);
    write_fresh(fresh, token, value);
    fd = enter(guard);
    refused = read_file(file, &now) && token < now.token;
    if (!refused && rename(fresh, file) != 0) {
        give_up(file);
    }
    close(fd);
    if (refused) {
        remove(fresh);
    }
    return refused ? -1 : 0;
}

/* ---- the users ---- */

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
    char directory[] = "/tmp/guarded-file-XXXXXX", local[64], file[64];
    int rc;

    if (argc == 5 && strcmp(argv[1], "--worker") == 0) {
        return work(atoi(argv[2]), argv[3], argv[4]);
    }
    check_arguments(argc, argv, 1, "guarded_file" USAGE_SERVERS);
    make_directory(directory);
    snprintf(local, sizeof(local), "local:%s/coordination", directory);
    snprintf(file, sizeof(file), "%s/file", directory);
    rc = supervise(argv[0], argc > 1 ? argv[1] : local, file);
    remove_directory(directory);
    return rc;
}
