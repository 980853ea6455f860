#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Partitions of a running ensemble under load, each member on a host of its own; a history checker decides.

    partitions.py [--kinds ppp] [--rounds 20] [--seed N]

Clients are on the members' hosts, and what is cut for a member is cut for them. In turn: a minority is cut
off, the leader is, the leader's packets are lost but it hears the others, the other way round, two
parts see each other only through one member between them. Whoever is with a quorum goes on meanwhile,
and everybody afterwards; what must be so in the end is in ensemble_kills.py. Ends with 77 where there
are no network namespaces.
"""
import argparse
import os
import sys

import ensemble
import ensemble_kills as kills
import hosts
import pawld_ensemble as pe
import servers

CUTS = ("minority", "leader", "leader unheard", "leader deaf", "bridge")


class Client(kills.Client):
    host = None

    def run(self):
        self.host.enter()
        super().run()


class Story(kills.Story):
    name = "partitions"

    def __init__(self, options, folder):
        self.net = hosts.Network(len(options.kinds))
        super().__init__(options, folder)

    def make_members(self, folder):
        members = pe.make(self.options.kinds, folder)
        for m in members:
            host = self.net.host(m.number)
            m.port = m.fixed_port = servers.HostPort(host.address, m.port)
            m.command = self.on_host(host, m.command)
        ensemble.tell_each_other(members)
        return members

    def on_host(self, host, command):
        return lambda: host.inside + command()

    def make_client(self, number, ports):
        client = Client(number, ports, self.options.seed, self.history)
        client.host = self.net.hosts[number % len(self.net.hosts)]
        return client

    def clients_on(self, numbers):
        return [c for c in self.clients if c.host.number in numbers]

    # -- cuts; each returns the numbers of those that are with a quorum --

    def minority(self, leader, rest):
        few = rest[:(len(self.members) - 1) // 2]
        many = [n for n in [leader] + rest if n not in few]
        self.net.part(few, many)
        return many

    def leader_alone(self, leader, rest):
        self.net.part([leader], rest)
        return rest

    def leader_unheard(self, leader, rest):
        for n in rest:
            self.net.cut(leader, n)
        return rest

    def leader_deaf(self, leader, rest):
        for n in rest:
            self.net.cut(n, leader)
        return rest

    def bridge(self, leader, rest):
        """The leader keeps its quorum through whoever is between."""
        half = (len(rest) + 1) // 2
        self.net.part([leader], rest[:half])
        return [leader] + rest[half:]

    def round(self, number):
        cut = (self.minority, self.leader_alone, self.leader_unheard, self.leader_deaf,
               self.bridge)[number % len(CUTS)]
        if cut == self.bridge:
            self.wait_settled()  # who has yet to join the leader may follow somebody else as well
        leader = self.leader().number
        rest = [m.number for m in self.members if m.number != leader]
        self.random.shuffle(rest)
        able = cut(leader, rest)
        if self.options.verbose:
            print("round %d: %s, leader %d, able %s" % (number, CUTS[number % len(CUTS)], leader, able),
                  flush=True)
        self.leave_ghost(self.random.choice(self.members))
        if self.random.random() < 0.8:
            self.wait_progress(each=True, clients=self.clients_on(able))
            self.wait_for(lambda: self.leads_among(able), "a leader of theirs")
        self.net.heal()
        self.wait_progress(each=True)
        if self.random.random() < 0.5:
            self.wait_settled()

    def leads_among(self, numbers):
        return any(m.mode() == "leader" for m in self.members if m.number in numbers)

    def play(self):
        try:
            super().play()
        finally:
            self.net.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kinds", default="ppp")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    hosts.enter_own_network()
    return kills.tell(Story, options, "partitions")


if __name__ == "__main__":
    sys.exit(main())
