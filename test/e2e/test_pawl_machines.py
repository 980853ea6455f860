#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl lock and pawl lead on two machines, and a server on a third: network namespaces, between which
packets are lost without a word. However the holder is cut off, and whatever its command does about
SIGTERM: when the other machine's command begins, nothing is left of the first one. The referee is a
file lock that both machines see (referee.py)."""
import os
import subprocess

import daemon
from daemon import wait_until
from pawl_program import LOST, OK, PAWL
from referee import RefereeCase

import hosts

SERVER, ONE, OTHER = 1, 2, 3
CUTS = {"both ways": [(SERVER, ONE), (ONE, SERVER)], "towards the server": [(ONE, SERVER)],
        "from the server": [(SERVER, ONE)]}


class Machines(RefereeCase):
    def start(self, *options):
        """The server of setUp(), on a machine of its own."""
        self.net = hosts.Network(3)
        self.addCleanup(self.net.close)
        folder = os.path.join(self.dir, "data")
        os.makedirs(folder)
        return self.on(SERVER, daemon.PAWLD, "--data", folder, "--port", "2181", *options)

    def use_port(self, port):
        self.env["PAWL_SERVER"] = self.net.host(SERVER).address + ":2181"
        wait_until(lambda: self.run_on(OTHER, "exists", "/").returncode == OK, "the server")

    def on(self, number, *command):
        process = subprocess.Popen(self.net.host(number).inside + list(command), stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=self.env, cwd=self.dir)
        process.port = 2181
        self.addCleanup(self.finish, process)
        return process

    def run_on(self, number, *args):
        return subprocess.run(self.net.host(number).inside + [PAWL, *args], capture_output=True, env=self.env,
                              check=False)

    def hold_on(self, number, *how, command="lock"):
        return self.on(number, PAWL, "-T", self.session, command, "/job", "--", *self.command(*how))

    def assert_began(self, process):
        self.assertRegex(process.stdout.readline(), rb"^began")

    def test_who_is_cut_off(self):
        for cut, how in (("both ways", ()), ("both ways", ("chain", "deaf")),
                         ("towards the server", ("away", "deaf")), ("from the server", ("away", "deaf"))):
            with self.subTest(cut=cut, how=how):
                holder = self.hold_on(ONE, *how)
                self.assert_began(holder)
                waiter = self.hold_on(OTHER, "once")
                for link in CUTS[cut]:
                    self.net.cut(*link)
                self.assertEqual(holder.wait(), LOST)
                self.assert_began(waiter)
                self.assertEqual(waiter.wait(), OK)
                self.net.heal()

    def test_who_is_cut_off_and_killed(self):
        """Nobody is left there who knows of the server; the watchdog does not need it."""
        holder = self.hold_on(ONE, "away", "deaf")
        self.assert_began(holder)
        waiter = self.hold_on(OTHER, "once")
        for link in CUTS["both ways"]:
            self.net.cut(*link)
        holder.kill()
        self.assert_began(waiter)
        self.assertEqual(waiter.wait(), OK)

    def test_a_leader_that_is_cut_off_leads_again(self):
        leader = self.hold_on(ONE, "deaf", command="lead")
        self.assert_began(leader)
        other = self.hold_on(OTHER, "deaf", command="lead")
        for link in CUTS["both ways"]:
            self.net.cut(*link)
        self.assert_began(other)
        self.net.heal()
        for link in ((SERVER, OTHER), (OTHER, SERVER)):
            self.net.cut(*link)
        self.assert_began(leader)


if __name__ == "__main__":
    hosts.enter_own_network()
    daemon.main()
