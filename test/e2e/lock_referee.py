#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Processes want one lock; whoever holds it is killed, stopped or cut off, again and again.

    lock_referee.py --program BUILD/lock_worker [--kind lock] [--rounds N] [--only pawld|local]
                    [--seed S]

lock_worker.c says what a worker does. The referee, a resource as others would build one, accepts
only tokens that grow. What must be true:

- No overlap: nobody's grant says "held" after the next one has the lock. Both say when they looked,
  by one clock; a worker that is stopped says it when it goes on.
- Whoever was stopped beyond its session, or cut off, learns that it holds nothing; its late writes
  are refused, by the referee through the token and by the server through the guard.
- No lost wake-up: after each blow somebody else enters within a session's time and a little.

On pawld each worker has a proxy of its own that can be cut: closed, or silent. On local:DIR one of
the workers hosts; it is killed as well, but not stopped (nobody could take its place).
"""
import argparse
import os
import random
import shutil
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "interop"))

import servers  # noqa: E402
from patience import PATIENCE_SECONDS  # noqa: E402

SESSION_MS = 4000
LOCAL_SESSION_MS = 8000  # outlives a take-over, also on a busy machine
TICK_MS = 300
SLACK_SECONDS = 60  # of a busy machine
WORKERS = 5


# ---- the referee --------------------------------------------------------------------------------

class Entry:
    """Somebody's turn: from entering until leaving, or until it was lost."""

    def __init__(self, name, token, at):
        self.name, self.token, self.at = name, token, at
        self.last_held = at  # when the grant last said so


class Referee:
    def __init__(self):
        self.changed = threading.Condition()
        self.entries = []      # accepted, in order; tokens grow
        self.by_token = {}
        self.mistakes = []
        self.n_refused = 0     # entries with an old token
        self.late = []         # (token, what the guarded write said, refused?)
        self.catch = None      # asked of each who enters: is this the one to hold back?
        self.caught = None     # the entry that waits for its answer
        self.verdict = "go"
        self.check_alive = lambda: None
        referee = self

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self):
                try:
                    for line in self.rfile:
                        self.wfile.write((referee.judge(line.decode().split()) + "\n").encode())
                except OSError:
                    pass  # it was killed

        class Listener(socketserver.ThreadingTCPServer):
            daemon_threads = True
            request_queue_size = 64

        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.port = self.listener.server_address[1]
        threading.Thread(target=self.listener.serve_forever, args=(0.02,), daemon=True).start()

    def judge(self, words):
        what, name, token = words[0], words[1], int(words[2])
        with self.changed:
            try:
                return getattr(self, "on_" + what)(name, token, words[3])
            finally:
                self.changed.notify_all()

    def newest(self):
        return self.entries[-1] if self.entries else None

    def on_enter(self, name, token, at):
        newest = self.newest()
        if newest is not None and token <= newest.token:
            self.n_refused += 1
            return "refused"
        entry = Entry(name, token, int(at))
        if newest is not None and newest.last_held > entry.at:
            self.mistakes.append("%s held %d us after %s had the lock" % (
                newest.name, newest.last_held - entry.at, name))
        self.entries.append(entry)
        self.by_token[token] = entry
        if self.catch is None or not self.catch(name):
            return "go"
        self.catch, self.caught = None, entry
        self.changed.notify_all()
        self.wait_for(lambda: self.caught is not entry, "the test to say what next")
        return self.verdict

    def on_write(self, name, token, at):
        entry = self.by_token[token]
        entry.last_held = int(at)
        after = [e for e in self.entries if e.token > token]
        if after and after[0].at < entry.last_held:
            self.mistakes.append("%s wrote, certain, %d us after %s had the lock" % (
                name, entry.last_held - after[0].at, after[0].name))
        # Decided in time and come late: no mistake, but not accepted either.
        return "refused" if after else "ok"

    def on_leave(self, _name, _token, _more):
        return "ok"

    def on_lost(self, name, token, _more):
        self.wait_for(lambda: self.newest().token > token, "somebody to enter after " + name)
        return "late"

    def on_late(self, _name, token, guard):
        newer = self.newest().token > token
        self.late.append((token, guard, newer))
        return "refused" if newer else "ok"

    def wait_for(self, condition, what):
        if not self.changed.wait_for(condition, PATIENCE_SECONDS):
            self.mistakes.append("waited for " + what)

    # -- for the test ------------------------------------------------------------------------------

    def catch_one(self, accept=lambda name: True):
        """The next who enters is held back inside; gives its entry."""
        with self.changed:
            self.catch = accept
        self.wait(lambda: self.caught is not None, "somebody to enter")
        return self.caught

    def let_go(self, entry, verdict):
        with self.changed:
            self.verdict, self.caught = verdict, None
            self.changed.notify_all()

    def wait(self, condition, what, timeout=PATIENCE_SECONDS):
        """For the test's thread: ends early when somebody made a mistake, or died."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while not self.changed.wait_for(lambda: condition() or self.mistakes, 0.5):
                self.check_alive()
                assert time.monotonic() < deadline, "waited %.1f s for %s" % (timeout, what)
            assert not self.mistakes, self.mistakes

    def wait_next(self, entry, timeout):
        self.wait(lambda: self.newest().token > entry.token,
                  "somebody to enter after " + entry.name, timeout)

    def wait_entries(self, names, n):
        """Until each of these has been inside n times more."""
        def count():
            return {name: sum(e.name == name for e in self.entries) for name in names}
        with self.changed:
            before = count()
        self.wait(lambda: all(now >= before[name] + n for name, now in count().items()),
                  "all to go on")

    def wait_late(self, token):
        self.wait(lambda: any(t == token for t, _, _ in self.late), "a late write of %d" % token)

    def check(self):
        with self.changed:
            assert not self.mistakes, self.mistakes
            tokens = [e.token for e in self.entries]
            assert tokens == sorted(set(tokens))
            for token, guard, refused in self.late:
                assert refused and guard in ("NO_NODE", "NOT_HELD", "LOST"), (token, guard, refused)

    def close(self):
        self.listener.shutdown()
        self.listener.server_close()


# ---- the link -----------------------------------------------------------------------------------

class Proxy:
    """One worker's way to the server. Cut: closed, and new ones refused; or silent."""

    def __init__(self, port):
        self.to = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.open = threading.Event()
        self.open.set()
        self.pairs = []
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if not self.open.is_set():
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self.to))
            for s in (near, far):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.pairs.append((near, far))
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    def pump(self, source, sink):
        try:
            while True:
                data = source.recv(65536)
                self.open.wait()  # silent: what came is kept
                if not data:
                    break
                sink.sendall(data)
        except OSError:
            pass
        for s in (source, sink):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self, silent):
        self.open.clear()
        if not silent:
            with self.lock:
                for pair in self.pairs:
                    for s in pair:
                        try:
                            s.shutdown(socket.SHUT_RDWR)
                        except OSError:
                            pass
                self.pairs.clear()

    def mend(self):
        self.open.set()

    def close(self):
        self.listener.close()
        self.cut(False)
        self.mend()


# ---- workers and what happens to them ------------------------------------------------------------

class Worker:
    def __init__(self, command, name, proxy):
        self.name, self.proxy = name, proxy
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE)

    def stop(self):
        self.process.stdin.close()

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        if self.proxy:
            self.proxy.close()


class Crowd:
    """The workers. `server` is a pawld; None: they are among themselves in a folder."""

    def __init__(self, options, server, folder):
        self.program, self.kind = options.program, options.kind
        self.server, self.folder = server, folder
        self.session_ms = SESSION_MS if server else LOCAL_SESSION_MS
        self.referee = Referee()
        self.referee.check_alive = self.check_alive
        self.workers = {}
        self.n = 0
        self.slowest = 0.0
        for _ in range(WORKERS):
            self.add()

    def add(self):
        name = "w%d" % self.n
        policy = ("stop", "go-on")[self.n % 2]
        self.n += 1
        if self.server:
            proxy = Proxy(self.server.port)
            servers_text = "127.0.0.1:%d" % proxy.port
        else:
            proxy, servers_text = None, "local:" + self.folder
        self.workers[name] = Worker([self.program, servers_text, str(self.session_ms),
                                     str(self.referee.port), name, policy, self.kind], name, proxy)

    def check_alive(self):
        for worker in self.workers.values():
            code = worker.process.poll()
            assert code is None, "%s ended with %s; %s" % (worker.name, code,
                                                           self.referee.mistakes)

    def is_host(self, name):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(2)
            try:
                s.connect(os.path.join(self.folder, "socket"))
            except OSError:
                return True  # not known at the moment
            pid = struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        return self.workers[name].process.pid == pid

    def wait_next(self, entry):
        """Somebody else enters in time."""
        began = time.monotonic()
        self.referee.wait_next(entry, self.session_ms / 1000 + SLACK_SECONDS)
        self.slowest = max(self.slowest, time.monotonic() - began)

    # -- the blows ---------------------------------------------------------------------------------

    def kill(self):
        entry = self.referee.catch_one()
        worker = self.workers.pop(entry.name)
        worker.process.kill()
        worker.process.wait()
        self.referee.let_go(entry, "hold")
        self.wait_next(entry)
        worker.close()
        self.add()

    def stop(self):
        entry = self.referee.catch_one(lambda name: self.server or not self.is_host(name))
        worker = self.workers[entry.name]
        worker.process.send_signal(signal.SIGSTOP)
        self.referee.let_go(entry, "hold")
        self.wait_next(entry)
        worker.process.send_signal(signal.SIGCONT)
        self.referee.wait_late(entry.token)

    def cut(self, silent):
        entry = self.referee.catch_one()
        worker = self.workers[entry.name]
        worker.proxy.cut(silent)
        self.referee.let_go(entry, "hold")
        self.wait_next(entry)
        worker.proxy.mend()
        self.referee.wait_late(entry.token)

    def close_link(self):
        self.cut(False)

    def silence_link(self):
        self.cut(True)

    def kill_waiter(self):
        """Somebody in the middle of the queue; nobody may notice."""
        entry = self.referee.catch_one()
        name = next(name for name in self.workers if name != entry.name)
        worker = self.workers.pop(name)
        worker.process.kill()
        worker.close()
        self.referee.let_go(entry, "go")
        self.wait_next(entry)
        self.add()

    def kill_host(self):
        """Who holds the lock is not the host, and goes on holding it while another takes over."""
        entry = self.referee.catch_one(lambda name: not self.is_host(name))
        name = next(name for name in self.workers if self.is_host(name))
        worker = self.workers.pop(name)
        worker.process.kill()
        worker.close()
        self.referee.let_go(entry, "go")
        self.wait_next(entry)
        with self.referee.changed:
            assert all(token != entry.token for token, _, _ in self.referee.late), "it was lost"
        self.add()

    def end(self):
        for worker in self.workers.values():
            worker.stop()
        for worker in self.workers.values():
            code = worker.process.wait(PATIENCE_SECONDS)
            assert code == 0, "%s ended with %d" % (worker.name, code)
        self.referee.check()

    def close(self):
        for worker in self.workers.values():
            worker.close()
        self.referee.close()


def play(crowd, blows, where):
    """Each blow; then all that are there must go on."""
    crowd.referee.wait_entries(list(crowd.workers), 1)
    for blow in blows:
        getattr(crowd, blow)()
        crowd.check_alive()
        crowd.referee.wait_entries(list(crowd.workers), 1)
        crowd.referee.check()
    crowd.end()
    referee = crowd.referee
    print("%s: %d entries, tokens grow, no overlap; %s; the next entered %.1f s after a blow at "
          "most; %d late writes refused, and %d entries with an old token" % (
              where, len(referee.entries),
              ", ".join("%d x %s" % (blows.count(b), b.replace("_", " "))
                        for b in sorted(set(blows))),
              crowd.slowest, len(referee.late), referee.n_refused), flush=True)


def on_pawld(options, blows):
    with servers.make("pawld", config={"tickTime": str(TICK_MS)}) as server:
        crowd = Crowd(options, server, None)
        try:
            play(crowd, blows, "pawld")
        finally:
            crowd.close()
        server.end()


def on_local(options, blows):
    folder = tempfile.mkdtemp(prefix="referee-")
    crowd = Crowd(options, None, folder)
    try:
        play(crowd, blows, "local:DIR")
    finally:
        crowd.close()
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--kind", choices=("lock", "write", "mutex", "latch"), default="lock")
    parser.add_argument("--rounds", type=int, default=2, help="of every blow")
    parser.add_argument("--only", choices=("pawld", "local"))
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print("%s, seed %d" % (options.kind, options.seed), flush=True)
    order = random.Random(options.seed)
    for where, run, blows in (
            ("pawld", on_pawld, ["kill", "stop", "close_link", "silence_link", "kill_waiter"]),
            ("local", on_local, ["kill", "stop", "kill_waiter", "kill_host"])):
        blows = blows * options.rounds
        order.shuffle(blows)
        if options.only in (None, where):
            run(options, blows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
