# SPDX-License-Identifier: Apache-2.0
"""One server grows to three and shrinks back to one, with standaloneEnabled=false.

    reconfig_growth.py KINDS...

The first letter is the server that there is at first; in the end another one is left. What was written at the
beginning is there at the end.
"""
import sys

from changing import SECONDS, Changing, members_of
from patience import wait_until
from reconfig import check, numbers_in

CONFIG = {"standaloneEnabled": "false"}


def grow(e, letter):
    fresh = e.make(letter, among=e.alive())
    e.start(fresh)
    text = e.reconfig(joining=fresh.line())
    check(e, text, [m.number for m in e.alive()], "grown")


def shrink(e, leaver):
    """It is stopped when it is out, as an operator does."""
    text = e.reconfig(leaving="%d" % leaver.number)
    e.wait_in_force(text)
    wait_until(lambda: e.leader() is not leaver, "another leader", SECONDS)
    assert leaver.terminate() == leaver.exit_code
    check(e, text, [m.number for m in e.alive()], "shrunk")


def story(kinds):
    with Changing(kinds[0], CONFIG) as e:
        e.start()
        check(e, e.text(), [1], "one")
        for letter in kinds[1:]:
            grow(e, letter)
        for leaver in e.alive()[:-1]:  # the first one, which led all the time, first
            shrink(e, leaver)
        last = e.alive()[0]
        assert e.leader() is last and numbers_in(e) == [last.number]
        assert e.try_read(last, "/one-1")
        text = e.text()
        assert e.ask(leaving="%d" % last.number)[0] == -8  # somebody has to be left
        last.kill9()
        e.start(last)
        assert members_of(e.text()) == members_of(text)
        assert e.try_read(last, "/one-1")


def main():
    for kinds in sys.argv[1:] or ["ppp"]:
        story(kinds)
        print("%s: passed" % kinds, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
