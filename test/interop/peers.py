# SPDX-License-Identifier: Apache-2.0
"""Programs that are told line by line what to do (recipe_peer.c, CuratorPeer.java), the referee who
watches them, and the shapes of the znodes that they leave.
"""
import collections
import glob
import os
import queue
import re
import socketserver
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))

from patience import PATIENCE_SECONDS, wait_until  # noqa: E402,F401

VECTORS = os.path.join(os.path.dirname(HERE), "vectors", "curator")
# ---- peers ------------------------------------------------------------------------------------

class Answer:
    """What one actor said, or will say, to one line."""

    def __init__(self, line):
        self.line, self.box = line, queue.Queue()

    def get(self, timeout=PATIENCE_SECONDS):
        try:
            verdict, text = self.box.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError("no answer in %d s to: %s" % (timeout, self.line)) from None
        if verdict != "ok":
            raise AssertionError("%s -> %s %s" % (self.line, verdict, text))
        return text

    def waits(self):
        return self.box.empty()


class Peer:
    """A process with many actors. `tell` does not wait; `ask` does. `before` is called before each line."""

    def __init__(self, name, command, before=None):
        self.name = name
        self.before = before or (lambda: None)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)
        self.open = collections.defaultdict(collections.deque)
        self.lock = threading.Lock()
        self.verbs = None
        self.ready = threading.Event()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            actor, verdict, text = (line.rstrip("\n").split(" ", 2) + ["", ""])[:3]
            if actor == "ready":
                self.verbs = set((verdict + " " + text).split())
                self.ready.set()
                continue
            with self.lock:
                answer = self.open[actor].popleft()
            answer.box.put((verdict, text))
        self.ready.set()
        with self.lock:
            for answers in self.open.values():
                for answer in answers:
                    answer.box.put(("error", "%s has ended" % self.name))

    def wait_ready(self):
        if not self.ready.wait(PATIENCE_SECONDS) or self.verbs is None:
            raise AssertionError("%s did not start" % self.name)
        return self

    def tell(self, actor, *words):
        line = " ".join([actor] + [str(word) for word in words])
        answer = Answer("%s: %s" % (self.name, line))
        self.before()
        with self.lock:
            self.open[actor].append(answer)
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        return answer

    def ask(self, actor, *words):
        return self.tell(actor, *words).get()

    def kill9(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        """Its input ends, and it must end well."""
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_SECONDS)
        assert code == 0, "%s ended with %d" % (self.name, code)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


# ---- the referee ------------------------------------------------------------------------------

class Referee:
    """Knows who is inside of what. Lines: "enter|leave PATH write|read|lease:N NAME"."""

    def __init__(self):
        self.lock = threading.Lock()
        self.inside = collections.defaultdict(list)  # path: [(mode, name)]
        self.most = collections.Counter()            # path: how many at the same time
        self.entries = collections.defaultdict(collections.Counter)  # path: name: times
        self.complaints = []
        referee = self

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self):
                for line in self.rfile:
                    self.wfile.write((referee.judge(line.decode().split()) + "\n").encode())

        class Listener(socketserver.ThreadingTCPServer):
            daemon_threads = True
            request_queue_size = 64

        self.listener = Listener(("127.0.0.1", 0), Handler)
        self.port = self.listener.server_address[1]
        threading.Thread(target=self.listener.serve_forever, args=(0.02,), daemon=True).start()

    def judge(self, words):
        what, path, mode, name = words
        with self.lock:
            verdict = self.enter(path, mode, name) if what == "enter" else self.leave(
                path, mode, name)
            if verdict != "ok":
                self.complaints.append("%s: %s" % (" ".join(words), verdict))
            return verdict

    def enter(self, path, mode, name):
        inside = self.inside[path]
        if mode == "write":
            good = not inside
        elif mode == "read":
            good = all(m == "read" for m, _ in inside)
        else:
            good = len(inside) < int(mode.split(":")[1])
        if not good:
            return "no: inside are %s" % inside
        inside.append((mode, name))
        self.most[path] = max(self.most[path], len(inside))
        self.entries[path][name] += 1
        return "ok"

    def leave(self, path, mode, name):
        if (mode, name) not in self.inside[path]:
            return "no: not inside"
        self.inside[path].remove((mode, name))
        return "ok"

    def check(self, path, names, rounds):
        """Everybody was inside `rounds` times, never too many at once, and all are out."""
        with self.lock:
            assert not self.complaints, self.complaints
            assert not self.inside[path], self.inside[path]
            expected = {name: rounds for name in names}
            assert self.entries[path] == expected, (self.entries[path], expected)

    def close(self):
        self.listener.shutdown()
        self.listener.server_close()


# ---- shapes of znodes ---------------------------------------------------------------------------

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


def name_shape(path):
    """A path with UUID and SEQ in the place of ids and sequence numbers."""
    return re.sub(r"\d{10}(?=$|/)", "SEQ", re.sub(UUID, "UUID", path))


def data_shape(data):
    if not data:
        return "empty"
    text = data.decode("latin-1")
    # Curator writes its address; ours has more behind it.
    if re.fullmatch(r"\d+\.\d+\.\d+\.\d+( host=\S+ pid=\d+ .*)?", text):
        return "address"
    return text if text.isascii() and text.isprintable() else "hex:" + data.hex()


def containers(data_dirs):
    """The paths that were created as containers. A Stat does not say so; the servers' logs do: the
    last field of a transaction's header is its type, 19, and the path follows it."""
    found = set()
    for name in sum((glob.glob(os.path.join(d, "version-2", "log.*")) for d in data_dirs), []):
        with open(name, "rb") as f:
            log = f.read()
        for match in re.finditer(rb"\0\0\0\x13(?=(.{4})/)", log, re.DOTALL):
            start = match.end() + 4
            found.add(log[start:start + int.from_bytes(match[1], "big")].decode("latin-1"))
    return found


def live_shapes(stage, base):
    """(name below base, mode, data) of each znode at and below `base`."""
    shapes = collections.Counter()
    boxes = containers(m.data_dir for m in stage.members)
    todo = [base]
    while todo:
        path = todo.pop()
        data, stat = stage.zk.get(path)
        mode = ("EPHEMERAL" if stat.ephemeralOwner != 0 else
                "CONTAINER" if path in boxes else "PERSISTENT")
        shapes[name_shape(path[len(base):]), mode, data_shape(data)] += 1
        todo += [path + "/" + child for child in stage.zk.get_children(path)]
    return shapes


def recorded_shapes(vector, title, base):
    """The same from the section of a vector whose title begins so."""
    shapes = collections.Counter()
    inside, path = False, None
    with open(os.path.join(VECTORS, vector)) as f:
        for line in f:
            if line.startswith("## "):
                inside = line[3:].startswith(title)
            elif inside and re.match(r"  /\S", line):
                path = line.split()[0]
            elif inside and path and line.startswith("      type="):
                if path == base or path.startswith(base + "/"):
                    shapes[recorded_shape(path[len(base):], line)] += 1
                path = None
    assert shapes, "nothing of %s in '%s' of %s" % (base, title, vector)
    return shapes


def recorded_shape(path, line):
    kind = re.search(r"type=(\w+)", line)[1]
    data = re.search(r"data=(.*?)  acl=", line)[1]
    if data == "(empty)":
        data = "empty"
    elif "<local-ip>" in data:
        data = "address"
    else:
        data = re.sub(r' \(\d+ B\)$', "", data)
        data = data[1:-1] if data.startswith('"') else data
    return name_shape(path), kind, data


def compare(stage, base, vector, title, vector_base):
    """The znodes below `base` are those of the vector: names, modes, data and how many of each."""
    live = live_shapes(stage, base)
    recorded = recorded_shapes(vector, title, vector_base)
    assert live == recorded, "znodes of %s\n  here: %s\n  %s: %s" % (
        base, sorted(live.items()), vector, sorted(recorded.items()))
