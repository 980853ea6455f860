# SPDX-License-Identifier: Apache-2.0
"""Members of an ensemble that were set up wrong: each mistake has its message, and costs nothing."""
import os
import signal
import socket
import struct
import zlib

import daemon
from daemon import PATIENCE_SECONDS, run
from patience import free_port, wait_until
from stranger import Stranger

ELECTION_PORT_STATUS = 14
DIGEST_BYTES = 12  # at the end of a record: version, digest
TEMPLATE = "tickTime=200\ninitLimit=50\nsyncLimit=25\ndataDir=%s\n4lw.commands.whitelist=*\n%s\n"


class Place:
    """Where a member is to be: its ports, and its line in everybody's list."""

    def __init__(self, number):
        self.number = number
        self.quorum, self.election, self.client = free_port(), free_port(), free_port()

    def line(self, host="127.0.0.1"):
        return "server.%d=%s:%d:%d;127.0.0.1:%d" % (self.number, host, self.quorum, self.election,
                                                   self.client)


class Members(daemon.TestCase):
    def setUp(self):
        super().setUp()
        self.places = [Place(i) for i in (1, 2, 3)]
        self.lines = [p.line() for p in self.places]

    def config(self, number, *more, lines=None, folder=None):
        """The file of server `number`, whose directory is there, too."""
        data = os.path.join(self.dir, folder or "data%d" % number)
        os.makedirs(data, exist_ok=True)
        with open(os.path.join(data, "myid"), "w") as f:
            f.write("%d\n" % number)
        return self.file("%s.cfg" % (folder or number),
                         TEMPLATE % (data, "\n".join((lines or self.lines) + list(more))))

    def member(self, *args, env=None, **kwargs):
        d = daemon.Daemon(self.dir, self.config(*args, **kwargs), port=None, env=env)
        d.port = self.places[args[0] - 1].client
        self.addCleanup(d.close)
        return d

    def mode(self, d):
        try:
            lines = d.word("srvr").splitlines()
        except OSError:
            return ""
        return next((x[6:] for x in lines if x.startswith("Mode: ")), "")

    def wait_modes(self, members, *modes):
        try:
            wait_until(lambda: sorted(self.mode(m) for m in members) == sorted(modes), str(modes))
        except AssertionError:
            for m in members:
                print("the log of port %d ends so:\n%s" % (m.port, m.log()[-3000:]))
            raise


class Start(Members):
    def test_a_myid_that_is_in_no_list(self):
        path = self.config(1)
        with open(os.path.join(self.dir, "data1", "myid"), "w") as f:
            f.write("9\n")
        code, _, err = run(path)
        self.assertEqual(code, 2)
        self.assertContains(err, "My id 9 not in the peer list")
        os.unlink(os.path.join(self.dir, "data1", "myid"))
        code, _, err = run(path)
        self.assertEqual(code, 2)
        self.assertContains(err, "myid file is missing")

    def taken(self):
        s = socket.socket()
        self.addCleanup(s.close)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", self.places[0].election))
        s.listen()
        return s

    def test_an_election_port_that_is_taken(self):
        self.taken()
        code, _, err = run(self.config(1, "electionPortBindRetry=1"))
        self.assertEqual(code, ELECTION_PORT_STATUS)
        self.assertContains(err, "the election port", ":%d" % self.places[0].election, "in use")
        self.assertNotIn("attempt", err)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "data1", "version-2")))
        code, _, err = run(self.config(1, "electionPortBindRetry=2"))
        self.assertEqual((code, err.count("again in a second")), (ELECTION_PORT_STATUS, 1))

    def test_an_election_port_that_gets_free(self):
        taken = self.taken()
        d = self.member(1, "electionPortBindRetry=0")
        d.wait_log("again in a second")
        taken.close()
        d.wait_log("looking for a leader")

    def test_who_waits_for_its_port_can_be_stopped(self):
        self.taken()
        d = self.member(1, "electionPortBindRetry=0")
        d.wait_log("again in a second")
        d.process.send_signal(signal.SIGTERM)
        self.assertEqual(d.process.wait(PATIENCE_SECONDS), 0)

    def test_an_address_of_another_machine_needs_all_addresses(self):
        lines = [self.places[0].line("192.0.2.1")] + self.lines[1:]
        code, _, err = run(self.config(1, "electionPortBindRetry=1", lines=lines))
        self.assertEqual(code, ELECTION_PORT_STATUS)
        self.assertContains(err, "192.0.2.1")
        self.member(1, "quorumListenOnAllIPs=true", lines=lines).wait_log("looking for a leader")

    def test_epoch_files_that_are_no_numbers(self):
        path = self.config(1)
        d = daemon.Daemon(self.dir, path, port=None)
        self.addCleanup(d.close)
        d.wait_log("looking for a leader")
        d.stop()
        with open(os.path.join(self.dir, "data1", "version-2", "acceptedEpoch"), "w") as f:
            f.write("x")
        code, _, err = run(path)
        self.assertEqual(code, 3)
        self.assertContains(err, "acceptedEpoch cannot be read as a number")


class Together(Members):
    def test_two_servers_with_one_id(self):
        members = [self.member(n) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        one = Place(1)  # elsewhere, and with the same number
        lines = [one.line()] + self.lines[1:]
        second = daemon.Daemon(self.dir, self.config(1, lines=lines, folder="second"), port=None)
        self.addCleanup(second.close)
        pattern = "they have the same myid|claims to be server 1 is refused"
        wait_until(lambda: any(daemon.re.search(pattern, m.log()) for m in members[1:]),
                   "the message")
        self.wait_modes(members, "leader", "follower", "follower")

    def test_lists_that_differ(self):
        first = self.member(1, lines=self.lines[:2] + [Place(4).line()])
        second = self.member(2)
        wait_until(lambda: "the lists have to be the same on all servers" in
                   first.log() + second.log(), "the message")

    def stranger(self, number):
        s = Stranger(self.places[number - 1].quorum)
        self.addCleanup(s.leave)
        return s

    def test_a_quorum_port_that_is_taken_leaves_the_lead_to_another(self):
        """Nobody waits with the stranger; when it is gone the member leads like any other."""
        stranger = self.stranger(3)
        members = [self.member(n) for n in (1, 2, 3)]  # they would elect the last one
        members[2].wait_log("the quorum port: .*:%d: .*in use.*must not lead" %
                            self.places[2].quorum)
        self.wait_modes(members, "leader", "follower", "follower")
        self.assertEqual(self.mode(members[2]), "follower")
        daemon.create(members[2].connect(), "/a", b"x")
        members[0].stop()
        members[0] = self.member(1)
        self.wait_modes(members, "leader", "follower", "follower")
        self.assertEqual(self.mode(members[2]), "follower")
        self.assertEqual(stranger.taken, [])
        stranger.leave()
        members[2].wait_log("the quorum port %d is this server's now" % self.places[2].quorum)
        last = next(m for m in members if self.mode(m) == "leader")
        members.remove(last)
        last.stop()
        self.wait_modes(members, "leader", "follower")
        self.assertEqual(self.mode(members[1]), "leader")
        self.assertEqual(daemon.get(members[0].connect(), "/a"), b"x")

    def test_two_of_three_of_which_only_the_one_without_a_port_has_all(self):
        """No leader rather than one that lacks something, until the port is free."""
        members = [self.member(n) for n in (2, 3)]
        self.wait_modes(members, "leader", "follower")
        daemon.create(members[0].connect(), "/a", b"x")
        for m in members:
            m.stop()
        stranger = self.stranger(3)
        members = [self.member(n) for n in (1, 3)]
        members[1].wait_log("this server, which cannot lead, does not vote for it")
        self.assertNotIn("is elected leader", members[0].log() + members[1].log())
        stranger.leave()
        self.wait_modes(members, "leader", "follower")
        self.assertEqual(self.mode(members[1]), "leader")
        self.assertEqual(daemon.get(members[0].connect(), "/a"), b"x")

    def test_a_quorum_port_is_the_members_whatever_its_role(self):
        members = [self.member(n) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        for n in (1, 2, 3):
            with self.assertRaises(OSError):
                Stranger(self.places[n - 1].quorum)
        last = next(m for m in members if self.mode(m) == "leader")
        members.remove(last)
        last.process.kill()
        self.wait_modes(members, "leader", "follower")

    def test_a_member_that_has_promised_a_later_epoch(self):
        """Nothing is lost: it was behind, and gets what the others have."""
        members = [self.member(n) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        last = next(i for i, m in enumerate(members) if self.mode(m) == "follower")
        members[last].stop()
        conn = next(m for m in members if self.mode(m) == "leader").connect()
        daemon.create(conn, "/a", b"x")
        with open(os.path.join(self.dir, "data%d" % (last + 1), "version-2", "acceptedEpoch"),
                  "w") as f:
            f.write("7")
        members[last] = self.member(last + 1)
        self.wait_modes(members, "leader", "follower", "follower")
        self.assertEqual(daemon.get(members[last].connect(), "/a"), b"x")


class Diverged(Members):
    """A member whose tree is not the others': its log is good, what it made of it is not."""

    def forge(self, number, old, new, with_digest):
        """In the last record of its log `old` becomes `new`, with a checksum that is right. Without the
        digest of the tree nobody notices before the next transaction."""
        folder = os.path.join(self.dir, "data%d" % number)
        path = os.path.join(folder, "version-2", daemon.files(folder, "log")[-1])
        with open(path, "r+b") as f:
            log, at = f.read(), 16
            while struct.unpack_from(">I", log, at + 8)[0] > 0:
                last, size = at, struct.unpack_from(">I", log, at + 8)[0]
                at += 12 + size + 1
            record = log[last + 12:last + 12 + size]
            self.assertIn(old, record)
            record = record.replace(old, new)[:size if with_digest else size - DIGEST_BYTES]
            f.seek(last)
            f.write((struct.pack(">QI", zlib.adler32(record), len(record)) + record + b"B").ljust(
                12 + size + 1, b"\0"))

    def mark(self, number):
        return os.path.join(self.dir, "data%d" % number, "version-2", "pawl.diverged")

    def with_a_node(self):
        """Three members with a node, and who connected to them for that."""
        members = [self.member(n) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        conn = members[0].connect()
        self.assertEqual(daemon.create(conn, "/a", b"right"), 0)
        wait_until(lambda: all("Node count: 6" in m.word("srvr") for m in members), "/a everywhere")
        return members, conn

    def diverge(self):
        """Three members, of whom the third has noticed that its /a is not the others', and stopped.
        All have the same history, so it would be elected: its number is the largest."""
        members, _ = self.with_a_node()
        members[2].stop()
        self.wait_modes(members[:2], "leader", "follower")  # or the third would lead again
        self.forge(3, b"right", b"wrong", with_digest=False)
        members[2] = self.member(3)
        self.wait_modes(members, "leader", "follower", "follower")
        members[0].connect()  # its session is the one transaction that the third gets to see
        self.assertEqual(members[2].process.wait(PATIENCE_SECONDS), 1)
        self.assertContains(members[2].log(), "this server's data is not the leader's",
                            "version-2/pawl.diverged")
        with open(self.mark(3)) as f:
            self.assertContains(f.read(), "the tree differed after transaction 0x", "createSession")
        return members

    def test_who_differed_leads_nobody_when_it_is_started_again(self):
        members = self.diverge()
        for m in members[:2]:
            m.stop()
        members = [self.member(1), self.member(3)]
        self.wait_modes(members, "leader", "follower")
        self.assertEqual(self.mode(members[0]), "leader")
        self.assertContains(members[1].log(), "was found to differ", "createSession")
        self.assertEqual(daemon.get(members[1].connect(), "/a"), b"right")
        self.assertFalse(os.path.exists(self.mark(3)))
        members[1].stop()
        members[1] = self.member(3)  # like any other from now on
        self.wait_modes(members, "leader", "follower")
        self.assertNotIn("was found to differ", members[1].log())
        self.assertEqual(daemon.get(members[1].connect(), "/a"), b"right")

    def test_who_finds_at_its_start_that_it_differs_leads_nobody(self):
        """Its own log says what the tree should be."""
        members, _ = self.with_a_node()
        for m in members:
            m.stop()
        self.forge(3, b"right", b"wrong", with_digest=True)
        members = [self.member(1), self.member(3)]
        self.wait_modes(members, "leader", "follower")
        self.assertEqual(self.mode(members[0]), "leader")
        self.assertContains(members[1].log(), "was found to differ", "as it was loaded")
        self.assertEqual(daemon.get(members[1].connect(), "/a"), b"right")
        self.assertFalse(os.path.exists(self.mark(3)))

    def test_who_differed_gets_a_tree_from_a_leader_that_is_there(self):
        members = self.diverge()
        members[2] = self.member(3)
        self.wait_modes(members, "leader", "follower", "follower")
        self.assertEqual(daemon.get(members[2].connect(), "/a"), b"right")
        self.assertFalse(os.path.exists(self.mark(3)))


if __name__ == "__main__":
    daemon.main()
