# SPDX-License-Identifier: Apache-2.0
"""An ensemble on loopback, of pawld, of Apache ZooKeeper or of both: start it, find its leader, kill and
pause its members.

    with Ensemble("pap", config={"maxSessionTimeout": "8000"}) as e:
        talk_to(e.connect_string)
        e.leader().kill9()
        e.wait_leader()

Kinds are letters: p is pawld, a is Apache's, P and A are observers. Members are `servers.Server`s with a
number, so everything said there about folders, logs and restarts holds here; a member that is started
again keeps its ports and its folder. Run as a program it starts an ensemble and obeys lines like
`kill leader` on its standard input, to play with.
"""
import os
import shutil
import signal
import sys
import tempfile

import servers
from patience import wait_until

ELECTION_SECONDS = 300  # Java on a busy machine
WORD_SECONDS = 10.0  # a member that is cut off accepts connections and stays silent

# Small delays: tests kill leaders often, and wait for the next one every time. But a busy machine keeps a
# member waiting for seconds: limits below that would end leaderships one after the other.
BASE_CONFIG = {
    "tickTime": "200",
    "initLimit": "100",
    "syncLimit": "30",
    "minSessionTimeout": "400",
    "maxSessionTimeout": "600000",
    "cnxTimeout": "1000",
    "fsync.warningthresholdms": "10000",
}
# C1 only, little heap and few threads: three of them share a small machine with everything else.
JAVA_OPTS = ("-Xms32m", "-Xmx128m", "-Xss256k", "-XX:CICompilerCount=1")


class Member:
    """What a server becomes by being a member; `number` is its myid."""

    is_observer = False

    def join(self, number):
        self.number = number
        self.paused = False
        self.ports = (servers.free_port(), servers.free_port())
        self.port = self.fixed_port = servers.free_port()
        with open(os.path.join(self.data_dir, "myid"), "w") as f:
            f.write("%d\n" % number)

    def entry(self):
        """The value of its line `server.N` in everybody's zoo.cfg."""
        role = "observer" if self.is_observer else "participant"
        return "%s:%d:%d:%s;%s:%d" % ((self.host,) + self.ports + (role, self.host, self.port))

    def srvr(self):
        """What it says of itself, {'Mode': 'leader', 'Zxid': '0x1...'}; {} when it does not serve."""
        if not self.running() or self.paused:
            return {}
        try:
            text = servers.four_letter_word(self.port, "srvr", timeout=WORD_SECONDS)
        except OSError:
            return {}
        return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)

    def mode(self):
        return self.srvr().get("Mode", "")

    def pause(self):
        """SIGSTOP: its sockets stay open and silent."""
        self.process.send_signal(signal.SIGSTOP)
        self.paused = True

    def resume(self):
        self.process.send_signal(signal.SIGCONT)
        self.paused = False

    def kill9(self):
        super().kill9()
        self.paused = False

    def terminate(self):
        if self.paused:
            self.resume()
        return super().terminate()


class ApacheMember(Member, servers.NettyServer):
    kind = "a"

    def __init__(self, number, folder, config):
        super().__init__(dir=os.path.join(folder, str(number)), config=config, java_opts=JAVA_OPTS)
        self.join(number)


class PawlMember(Member, servers.PawlServer):
    kind = "p"

    def __init__(self, number, folder, config):
        super().__init__(dir=os.path.join(folder, str(number)), config=config)
        self.join(number)


MEMBERS = {"a": ApacheMember, "p": PawlMember}


def make_members(kinds, folder, config):
    """One for each letter, with ports of their own and the list of all."""
    members = []
    for number, letter in enumerate(kinds, 1):
        member = MEMBERS[letter.lower()](number, folder, dict(config))
        member.is_observer = letter.isupper()
        if member.is_observer:
            member.config["peerType"] = "observer"
        members.append(member)
    tell_each_other(members)
    return members


def tell_each_other(members):
    for m in members:
        m.config.update({"server.%d" % o.number: o.entry() for o in members})


def modes_wanted(members):
    """Those of members that agree, sorted."""
    n_observers = sum(m.is_observer for m in members)
    n_followers = len(members) - n_observers - 1
    return ["follower"] * n_followers + ["leader"] + ["observer"] * n_observers


def all_serve(members):
    """One leads and all others follow or observe. Two leaders: one has just been woken, and has yet to
    find out that it is none any more."""
    return sorted(m.mode() for m in members) == modes_wanted(members)


def end_all(members):
    """Stops all, which must end well: the leader first, so that the others look for a new one when it is
    their turn."""
    for m in sorted(members, key=lambda m: m.mode() != "leader"):
        m.end()


class Ensemble:
    """`config` goes into every zoo.cfg, on top of BASE_CONFIG above."""

    def __init__(self, kinds="aaa", config=None, keep=False):
        self.dir = tempfile.mkdtemp(prefix="zk-ensemble-")
        self.keep = keep
        self.members = make_members(kinds, self.dir, dict(BASE_CONFIG, **(config or {})))

    # -- life ----------------------------------------------------------------------------------

    def start(self):
        """Returns when all members serve. Ports that were taken meanwhile are replaced once."""
        for attempt in range(2):
            for m in self.members:
                m.start(wait=False)
            try:
                self.wait_all()
                return self
            except RuntimeError:
                if attempt == 1 or not self.renew_ports():
                    raise

    def renew_ports(self):
        """New ports for members whose own were taken; False if that was nobody's trouble."""
        taken = [m for m in self.members if "already in use" in m.log_text()]
        for m in self.members:
            m.kill9()
        for m in taken:
            m.ports = (servers.free_port(), servers.free_port())
            m.port = m.fixed_port = servers.free_port()
        tell_each_other(self.members)
        return bool(taken)

    def wait_for(self, condition, what, timeout=ELECTION_SECONDS):
        return wait_until(condition, "%s; logs in %s" % (what, self.dir), timeout)

    def wait_all(self):
        """Until every member that is neither dead nor paused serves, one of them as the leader."""
        def settled():
            dead = [m.number for m in self.members if m.process and not m.running()]
            if len(dead) > (len(self.members) - 1) // 2:
                raise RuntimeError("members %s have died; logs in %s" % (dead, self.dir))
            return all_serve(self.alive())
        self.wait_for(settled, "all members")

    def wait_leader(self):
        return self.wait_for(self.leader, "a leader")

    def start_missing(self):
        """Starts the dead, wakes the paused, waits until all serve."""
        for m in self.members:
            if not m.running():
                m.start(wait=False)
            elif m.paused:
                m.resume()
        self.wait_all()

    def end(self):
        end_all(self.members)

    def close(self):
        for m in self.members:
            m.close()
        if not self.keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *exc):
        self.close()

    # -- who is who ----------------------------------------------------------------------------

    @property
    def connect_string(self):
        return ",".join(m.address for m in self.members)

    def alive(self):
        return [m for m in self.members if m.running() and not m.paused]

    def in_mode(self, mode):
        return next((m for m in self.alive() if m.mode() == mode), None)

    def leader(self):
        """The member that leads now, or None."""
        return self.in_mode("leader")

    def followers(self):
        return [m for m in self.alive() if m.mode() == "follower"]

    def by_address(self, address):
        return next(m for m in self.members if m.address == address)

    # -- orders, as words ----------------------------------------------------------------------

    def pick(self, who):
        """Members by 'leader', 'follower' (one), 'followers', 'all', a number or an address."""
        if who == "leader":
            return [self.wait_leader()]
        if who == "follower":
            self.wait_leader()
            return self.followers()[:1]
        if who == "followers":
            self.wait_leader()
            return self.followers()
        if who == "all":
            return list(self.members)
        if ":" in who:
            return [self.by_address(who)]
        return [self.members[int(who) - 1]]

    def obey(self, line):
        """'kill leader', 'pause followers', 'start all', 'wait leader', 'who leader'; what there is
        to say about it, mostly the addresses of those concerned."""
        verb, who = line.split()
        if verb == "start":
            self.start_missing()
            return "started"
        if verb == "wait":  # for a mode: 'leader', 'read-only'
            return self.wait_for(lambda: self.in_mode(who), "a member in mode " + who).address
        picked = [m for m in self.members if m.paused] if verb == "resume" else self.pick(who)
        for m in picked:
            if verb == "kill":
                m.kill9()
            elif verb == "pause":
                m.pause()
            elif verb == "resume":
                m.resume()
            elif verb == "restart":
                m.kill9()
                m.start(wait=False)
            elif verb != "who":
                raise ValueError("unknown order: " + line)
        if verb in ("resume", "restart"):
            self.wait_all()
        return ",".join(m.address for m in picked)


def one_or_several(name, config):
    """A server by its kind, 'pawld' or 'apache', or an ensemble by its members', 'pap'."""
    if name in servers.KINDS:
        return servers.make(name, config=config)
    return Ensemble(name, config=config)


def main():
    with Ensemble() as e:
        print(e.connect_string, flush=True)
        for line in sys.stdin:
            print(e.obey(line.strip()), flush=True)


if __name__ == "__main__":
    main()
