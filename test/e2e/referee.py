# SPDX-License-Identifier: Apache-2.0
"""Commands that must not run at the same time, for the tests of pawl lock and pawl lead.

The referee is a file lock: each command takes it for its life, and reports if another has it. The
kernel gives it back when the last process that has it is gone."""
import sys
import textwrap

from pawl_program import OK, TestCase

# Long beside what a busy machine may let a process wait, short enough for a test.
SESSION = "5s"

# Takes the referee's lock, says so, and lives on: by itself, in a process group or session of its
# own, deaf to SIGTERM, as another process every moment.
COMMAND = textwrap.dedent("""
    import fcntl, os, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN if "deaf" in sys.argv else signal.SIG_DFL)
    if "away" in sys.argv and os.fork() == 0:
        os.setsid()
        if os.fork() > 0:
            os._exit(0)
    elif "away" in sys.argv:
        time.sleep(3600)
    referee = open(sys.argv[1])
    try:
        fcntl.flock(referee, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("OVERLAP", flush=True)
        sys.exit(99)
    print("began", os.getppid(), flush=True)
    while "chain" in sys.argv:
        if os.fork() > 0:
            os._exit(0)
    if "once" not in sys.argv:
        time.sleep(3600)
""")


def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(word) for word in f.read().split()]


class RefereeCase(TestCase):
    server_options = ("-DtickTime=300",)
    session = SESSION

    def setUp(self):
        super().setUp()
        self.referee = self.file("referee", "")

    def command(self, *how):
        return [sys.executable, "-c", COMMAND, self.referee, *how]

    def assert_next(self):
        """Somebody else gets the lock at /job, and nobody is left of those before."""
        after = self.begin("-T", self.session, "lock", "/job", "--", *self.command("once"))
        self.assertRegex(after.stdout.readline(), rb"^began")
        self.assertEqual(after.wait(), OK)
