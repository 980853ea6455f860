/* SPDX-License-Identifier: Apache-2.0 */
/* fork_guard.h - descriptors that a forked child does not keep.
 *
 * close-on-exec is no help to a child that lives on without exec(): its copies of our sockets and
 * locks would keep a port taken, a directory locked and the other side waiting long after we have
 * ended. Guarded descriptors are closed in every child that fork() makes.
 *
 * The table is indexed by descriptor and remembers which file stood behind it: a number that was
 * closed and given out again is somebody else's and stays open, so nothing has to be taken off. */
#ifndef PAWL_OS_FORK_GUARD_H
#define PAWL_OS_FORK_GUARD_H

/* Between the two no fork() happens: a descriptor is made and guarded in one piece. Short and
 * without blocking; not to be nested. */
void fork_guard_begin(void);
void fork_guard_end(void);

/* Sockets and files; descriptors that have no inode of their own (eventfd, epoll) are refused.
 * Between begin and end. -1 is allowed and ignored; without memory for the table the descriptor
 * is inherited after all. Returns `fd`. */
int fork_guard_add(int fd);

/* Registers the handlers of fork(). Who holds a lock of its own over fork() and makes guarded
 * descriptors under it calls this before it registers: its lock is then taken first. */
void fork_guard_init(void);

#endif
