# SPDX-License-Identifier: Apache-2.0
"""Requests for other members that are refused: with the same code by ours as by Apache's, and nothing is changed.

Three servers of each kind. Each request is sent to a leader and to a follower, of both; what a list of ours is
stricter about says so.
"""
import sys

from changing import Changing, version_of

OK, MARSHALLING, BAD_ARGUMENTS, NO_QUORUM, NO_AUTH, BAD_VERSION, DISABLED = 0, -5, -8, -13, -102, -103, -123


def requests(e):
    """(what, request, Apache's answer; None: it takes it, ours where it differs)"""
    one, two, three = (m.line() for m in e.members[:3])
    nobody = "127.0.0.1:%d:%d:participant;127.0.0.1:%d"
    four = "server.4=" + nobody % (1, 2, 3)
    five = "server.5=" + nobody % (4, 5, 6)
    six = "server.6=" + nobody % (7, 8, 9)
    return [
        ("no quorum: two of three are not there", {"joining": four + "," + five + "," + six}, NO_QUORUM),
        ("no quorum: strangers only", {"members": four + "," + five}, NO_QUORUM),
        ("no quorum, in lines", {"members": four + "\n" + five}, NO_QUORUM),
        ("one voter is left", {"leaving": "1,2"}, BAD_ARGUMENTS),
        ("nobody is left", {"leaving": "1,2,3"}, BAD_ARGUMENTS),
        ("one voter, all anew", {"members": one}, BAD_ARGUMENTS),
        ("one voter and an observer", {"members": one + ",server.9=h:1:2:observer;3"}, MARSHALLING),
        ("observers only", {"members": "server.9=127.0.0.1:1:2:observer;3"}, MARSHALLING),
        ("an empty list", {"members": ""}, BAD_ARGUMENTS),
        ("a later version", {"leaving": "9", "curConfigId": 1 << 40}, BAD_VERSION),
        ("an earlier version", {"leaving": "9", "curConfigId": 0}, BAD_VERSION),
        ("no version at all", {"leaving": "9", "curConfigId": -2}, BAD_VERSION),
        ("a version is looked at first", {"joining": "x", "curConfigId": 7}, BAD_VERSION),
        ("not a server", {"joining": "some thing"}, BAD_ARGUMENTS),
        ("no address", {"joining": "server.4="}, BAD_ARGUMENTS),
        ("two equal signs", {"joining": four + "=1"}, BAD_ARGUMENTS),
        ("no number", {"joining": "server.x=" + nobody % (1, 2, 3)}, MARSHALLING),
        ("no number leaves", {"leaving": "x"}, MARSHALLING),
        ("a range leaves", {"leaving": "1-2"}, MARSHALLING),
        ("no client port", {"joining": "server.4=127.0.0.1:1:2:participant"}, BAD_ARGUMENTS),
        ("one port", {"joining": "server.4=127.0.0.1:1;3"}, BAD_ARGUMENTS),
        ("a bad port", {"joining": "server.4=127.0.0.1:a:2;3"}, BAD_ARGUMENTS),
        ("a bad role", {"joining": "server.4=127.0.0.1:1:2:king;3"}, BAD_ARGUMENTS),
        ("an unknown key", {"members": one + "," + two + ",clientPort=3"}, BAD_ARGUMENTS),
        ("a server without a number, all anew", {"members": one + "," + two + ",server.x=h:1:2;3"}, MARSHALLING),
        ("a bad address, all anew", {"members": one + "," + two + ",server.4=h:1"}, BAD_ARGUMENTS),
        ("a voter in no group", {"members": one + "," + two + "," + three + ",group.1=1:2"}, BAD_ARGUMENTS),
        ("a voter in two groups", {"members": one + "," + two + ",group.1=1:2,group.2=2"}, BAD_ARGUMENTS),
        # Apache's takes these: the last one counts, and what comes of two at one place is seen later.
        ("the same twice", {"joining": four + "," + five + "," + four}, None, BAD_ARGUMENTS),
        ("the same twice, all anew", {"members": one + "," + two + "," + three + "," + one}, None, BAD_ARGUMENTS),
        ("at the place of another", {"joining": one.replace("server.1=", "server.4=")}, None, BAD_ARGUMENTS),
        ("at the place of another, all anew",
         {"members": one + "," + two + "," + one.replace("server.1=", "server.4=")}, None, BAD_ARGUMENTS),
    ]


def ask(e, member, request):
    """The code of its answer."""
    answer = e.ask(member, **request)
    assert answer is not None, "the connection was lost"
    return answer[0]


def each_is_refused(e):
    text, wrong = e.text(), []
    for what, request, apache, *ours in requests(e):
        expected = ours[0] if ours and e.members[0].kind == "p" else apache
        if expected is None:
            continue
        for who in (e.leader(), e.followers()[0]):
            got = ask(e, who, request)
            if got != expected:
                wrong.append("%s, at the %s: %d, not %d" % (what, who.mode(), got, expected))
    assert not wrong, "; ".join(wrong)
    assert e.text() == text
    e.wait_in_force(text)
    e.write_and_read("refused")


def permission(e):
    """The world may read the list; to change it takes more. That is looked at last."""
    four = "server.4=127.0.0.1:1:2:observer;127.0.0.1:3"
    for who in (e.leader(), e.followers()[0]):
        assert ask(e, who, {"joining": four}) == NO_AUTH
        assert ask(e, who, {"joining": "some thing"}) == BAD_ARGUMENTS


def disabled(e):
    for who in (e.leader(), e.followers()[0]):
        assert ask(e, who, {"leaving": "1"}) == DISABLED
    assert version_of(e.text()) == "0"
    for m in e.members:
        assert m.file(".bak") is None and m.file(".dynamic.0") is None


WORLDS = [(each_is_refused, {}), (permission, {"skipACL": "no"}), (disabled, {"reconfigEnabled": "false"})]


def main():
    for kinds in sys.argv[1:] or ["ppp"]:
        for story, config in WORLDS:
            with Changing(kinds, config) as e:
                e.start()
                story(e)
                print("%s: %s" % (kinds, story.__name__), flush=True)
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
