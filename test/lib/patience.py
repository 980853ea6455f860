# SPDX-License-Identifier: Apache-2.0
"""What every test with real processes needs: to wait until something is so, and a port of its own."""
import fcntl
import os
import random
import socket
import time

PATIENCE_SECONDS = 120


def wait_until(condition, what, timeout=PATIENCE_SECONDS):
    """Polls what cannot be waited for; the truthy result of `condition`, or an error."""
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError("waited %.1f s for %s" % (timeout, what))
        time.sleep(0.005)


# Below what the kernel gives to those who ask for any port, so that no connection can take one.
PORTS = range(20000, 32000)
_locks = {}  # port: its lock file, open as long as this process lives


def _reserved(port):
    """True: from now on no other test uses this port."""
    folder = "/tmp/pawl-test-ports-%d" % os.getuid()  # one for all, whatever TMPDIR is
    os.makedirs(folder, exist_ok=True)
    f = open(os.path.join(folder, str(port)), "w")
    try:
        fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        f.close()
        return False
    _locks[port] = f
    return True


def _is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_ports(n, step=1):
    """The first of `n` ports in a row, `step` apart, that nobody uses; for programs that cannot be
    told to take any port. They are this process's until it ends."""
    while True:
        first = random.randrange(PORTS.start, PORTS.stop - n * step)
        row = range(first, first + n * step, step)
        if all(port not in _locks and _reserved(port) and _is_free(port) for port in row):
            return first


def free_port():
    return free_ports(1)
