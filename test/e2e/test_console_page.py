#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The console's page in a real browser. Screenshots are left in the build folder, in screenshots/."""
import atexit
import os
import subprocess
import unittest
import urllib.parse

import daemon
import ensemble
import zkwire as z
from browser import DOWN, END, ENTER, Browser, is_there
from console_api import console_port
from daemon import PAWLD, create
from pawl_program import TestCase

BUILD = os.path.dirname(os.path.dirname(os.path.abspath(PAWLD)))
PICTURES = os.path.join(BUILD, "screenshots")
TWO_LOCKS = os.path.join(BUILD, "test", "e2e", "two_locks")
WIDE, NARROW = (1280, 860), (390, 780)
N_CHILDREN = 100000

# Text against what it stands on, for everything that can be seen: those below 4.5 (3 for large letters).
CONTRAST = """
const lum = (c) => { const f = c.map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
  return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
const parse = (t) => { const m = t.match(/[\\d.]+/g).map(Number); return m.length > 3 && m[3] < 1 ? null : m.slice(0, 3); };
const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (c !== 'rgba(0, 0, 0, 0)' && parse(c)) return parse(c); } return [255, 255, 255]; };
const bad = [];
for (const e of document.querySelectorAll('body *')) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || e.closest('svg, .unseen, .skip, :disabled, noscript') || !e.getClientRects().length) continue;
  const s = getComputedStyle(e), fg = parse(s.color), bg = ground(e);
  const a = lum(fg), b = lum(bg), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < (parseFloat(s.fontSize) >= 24 ? 3 : 4.5)) bad.push([e.tagName, e.textContent.slice(0, 30), ratio.toFixed(2)]);
}
return bad;
"""

# Controls that nobody who hears the page would know the name of.
NAMELESS = """
return [...document.querySelectorAll('button, input, select, textarea, a[href], [role=listbox]')].filter((e) => {
  const label = e.id && document.querySelector('label[for="' + CSS.escape(e.id) + '"]');
  return !(label || e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label'));
}).map((e) => e.outerHTML.slice(0, 120));
"""


class Page(TestCase):
    server_options = ("-D4lw.commands.whitelist=*", "-DmaxSessionTimeout=%d" % daemon.LONG_SESSION_MS)

    browser = None

    @classmethod
    def setUpClass(cls):
        if not is_there():
            raise unittest.SkipTest("chromium and chromium-driver are not installed")
        super().setUpClass()
        os.makedirs(PICTURES, exist_ok=True)
        if Page.browser is None:  # one for all tests
            Page.browser = Browser(*WIDE)
            atexit.register(Page.browser.close)

    def setUp(self):
        super().setUp()
        self.use_console(self.env["PAWL_SERVER"])
        self.browser.resize(*WIDE)
        self.browser.console_errors()  # of the test before

    def use_console(self, servers):
        self.base = "http://127.0.0.1:%d" % console_port(self.begin("-s", servers, "console", "-p", "0"))
        self.addCleanup(self.browser.open, "about:blank")

    def go(self, view):
        self.browser.open("about:blank")
        self.browser.open(self.base + "/console#/" + view)

    def picture(self, name):
        self.browser.wait_script("return !document.getAnimations().some((a) => a instanceof CSSTransition)")
        self.browser.screenshot(os.path.join(PICTURES, name + ".png"))

    def check_page(self):
        """Nothing was refused or thrown, everything has a name and can be read, in dark and in light."""
        self.assertEqual(self.browser.console_errors(), [])
        self.assertEqual(self.browser.run(NAMELESS), [])
        for theme in ("dark", "light"):
            self.browser.run("document.documentElement.setAttribute('data-theme', arguments[0])", theme)
            self.assertEqual(self.browser.run(CONTRAST), [], theme)

    def log_in(self, user="bob", password="secret"):
        self.browser.find("#login").click()
        self.browser.find("#user").type(user)
        self.browser.find("#password").type(password)
        self.browser.find("#do-login").click()

    def stays_in(self):
        """Nothing reaches beyond the right edge."""
        self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), NARROW[0])


class Views(Page):
    def test_every_view(self):
        self.ok("create", "-p", "/config/limits", '{"timeout": 30, "hosts": ["a", "b"]}')
        self.ok("quota", "set", "-n", "5", "/config")
        c = self.server.connect()
        create(c, "/mine", flags=daemon.EPHEMERAL)
        c.call(z.GET_DATA, {"path": "/mine", "watch": True})
        for view, css, text in (("overview", "[data-member]", "standalone"), ("tree/config/limits", "pre.data", '"timeout": 30'),
                                ("locks", "main", "There is no lock"), ("sessions", "table", "0x%x" % c.session_id),
                                ("watches", "table", "/mine"), ("quotas", "table", "2 of 5"),
                                ("configuration", "table", "clientPort")):
            self.go(view)
            self.browser.wait_text(css, text)
            self.picture(view.split("/")[0])
            self.check_page()
            self.browser.resize(*NARROW)
            self.stays_in()
            self.picture(view.split("/")[0] + "-narrow")
            self.browser.resize(*WIDE)

    def test_a_node_in_words_and_forms(self):
        self.ok("create", "/count", "")
        c = self.server.connect()
        daemon.set_data(c, "/count", bytes((0, 0, 0, 0, 0, 0, 1, 2)))
        self.go("tree/count")
        self.browser.wait_text("pre.data", "DistributedAtomicLong has it: 258")
        self.browser.find("#form-Hex").click()
        self.browser.wait_text("pre.data", "00 00 00 00 00 00 01 02")
        self.browser.wait_text("section[aria-label=Node]", "a persistent node")
        self.browser.wait_text("section[aria-label=Node]", "changed once")
        self.browser.wait_text("section[aria-label=Node]", "Anybody may do everything")

    def test_by_keys_alone(self):
        self.ok("create", "-p", "/a/b", "there")
        self.go("overview")
        self.browser.find("[data-member]")
        self.browser.keys("gt")
        self.browser.wait_text("#n-children", "2 children")
        self.browser.run("document.querySelector('.list').focus()")
        self.browser.keys(DOWN + ENTER)
        self.browser.wait_text("#node-path", "/a")
        self.browser.wait_text("#n-children", "1 child")
        self.browser.keys(DOWN + ENTER)
        self.browser.wait_text("pre.data", "there")

    def test_search(self):
        self.ok("create", "-p", "/deep/er/needle", "hay")
        self.go("tree/deep")
        self.browser.find("#search-name").type("need" + ENTER)
        self.browser.wait_text(".places", "/deep/er/needle")
        self.browser.find(".places a").click()
        self.browser.wait_text("pre.data", "hay")


class Hostile(Page):
    def test_names_and_data_that_are_programs(self):
        """They are shown, and nothing of them runs."""
        evil = '<img src=x onerror="window.hit=1"><script>window.hit=1<'
        data = '<script>window.hit=1</script><svg onload="window.hit=1">'
        c = self.server.connect()
        self.assertEqual(create(c, "/" + evil, data.encode()), 0)
        self.assertEqual(create(c, "/javascript:window.hit=1", b'{"a": "<b onmouseover=window.hit=1>"}'), 0)
        lock = "/" + evil + "/_c_0-lock-0000000000"
        self.assertEqual(create(c, lock, data.encode(), flags=daemon.EPHEMERAL), 0)
        c.call(z.GET_DATA, {"path": lock, "watch": True})
        for view, css in (("tree", ".list"), ("tree/" + urllib.parse.quote(evil, safe=""), "pre.data"), ("locks", "[data-lock]"), ("watches", "table"),
                          ("sessions", "table"), ("tree/javascript%3Awindow.hit%3D1", "pre.data")):
            self.go(view)
            self.browser.wait_text(css, "window.hit=1")
            self.assertEqual(self.browser.run("return [window.hit ?? null, document.querySelectorAll('main img, main script, main b[onmouseover]').length]"),
                             [None, 0], view)
        self.go("tree")
        self.browser.find("#search-name").type("script" + ENTER)
        self.browser.wait_text(".places", "window.hit=1")
        self.assertIsNone(self.browser.run("return window.hit ?? null"))
        self.assertEqual(self.browser.console_errors(), [])


class Changes(Page):
    def test_an_edit_and_one_that_comes_too_late(self):
        self.ok("create", "/n", "first\nsecond\nthird")
        self.go("tree/n")
        self.browser.wait_text("pre.data", "second")
        self.assertTrue(self.browser.run("return document.querySelector('#edit').disabled"))  # before log-in
        self.log_in()
        self.browser.wait_text("#who", "bob")
        self.browser.wait_script("return document.querySelector('#edit') && !document.querySelector('#edit').disabled")
        self.edit("first\n2nd\nthird")
        self.browser.wait_text(".diff .out", "second")
        self.browser.wait_text(".diff .in", "2nd")
        self.check_page()
        self.browser.find("#save").click()
        self.browser.wait_text("pre.data", "2nd")
        self.assertEqual(self.ok("get", "/n"), "first\n2nd\nthird")
        self.edit("first\n2nd\nmine")
        self.ok("set", "/n", "theirs")
        self.browser.find("#save").click()
        self.browser.wait_text("#edit-wrong", "Somebody else has changed it")
        self.browser.wait_text(".diff .out", "theirs")
        self.picture("conflict")
        self.assertEqual(self.ok("get", "/n"), "theirs")
        self.browser.wait_text("#save", "version 2")
        self.browser.find("#save").click()
        self.browser.wait_text("pre.data", "mine")

    def edit(self, text):
        self.browser.find("#edit").click()
        area = self.browser.find("#edit-data")
        area.clear()
        area.type(text)
        self.browser.find("#review").click()

    def test_making_and_deleting(self):
        self.ok("create", "/folder")
        self.go("tree/folder")
        self.log_in()
        self.browser.wait_script("return document.querySelector('#create') && !document.querySelector('#create').disabled")
        self.browser.find("#create").click()
        self.browser.find("#new-name").type("child")
        self.browser.find("#new-data").type("its data" + "\n")
        self.browser.find("dialog button[type=submit]").click()
        self.browser.wait_text(".list", "child")
        self.assertEqual(self.ok("get", "/folder/child"), "its data\n")
        self.browser.find(".list .item").click()
        self.browser.wait_text("#node-path", "/folder/child")
        self.browser.find("#delete").click()
        self.browser.find("#erase-name").type("chil")
        self.assertTrue(self.browser.run("return document.querySelector('dialog button.danger').disabled"))
        self.browser.find("#erase-name").type("d")
        self.browser.find("dialog button.danger").click()
        self.browser.wait_text("#n-children", "0 children")
        self.fails(110, "get", "/folder/child")

    def test_a_wrong_password(self):
        self.ok("-a", "digest:bob:secret", "acl", "set", "/", "auth::cdrwa,world:anyone:r")
        self.go("tree")
        self.log_in(password="wrong")
        self.browser.wait_text("#wrong", "wrong user or password")
        self.assertEqual(self.browser.find("#who").text, "read-only")
        self.picture("wrong-password")
        self.browser.find("#password").type("secret" + ENTER)
        self.browser.wait_text("#who", "bob")
        self.assertNotIn("pawl_console", self.browser.run("return document.cookie"))
        self.browser.find("#login").click()
        self.browser.wait_text("#who", "read-only")


class Many(Page):
    def test_a_hundred_thousand_children(self):
        self.ok("create", "/many")
        c = self.server.connect()
        for i in range(N_CHILDREN):
            c.send(z.CREATE, {"path": "/many/child-%06d" % i, "data": b"", "acl": daemon.OPEN_ACL, "flags": 0})
            if i % 1000 == 999:
                for _ in range(1000):
                    self.assertEqual(c.recv().err, 0)
        self.go("tree/many")
        self.browser.wait_text("#n-children", "100,000 children")
        self.browser.wait_text(".list", "child-000003")
        self.assertLess(self.browser.run("return document.querySelectorAll('.list .item').length"), 100)
        self.browser.run("document.querySelector('.list').focus()")
        self.browser.keys(END)
        self.browser.wait_text(".list", "child-099999")
        self.browser.run("document.querySelector('.list').scrollTop = 28 * 54321")
        self.browser.wait_text(".list", "child-054321")
        self.picture("many")
        self.browser.find("input[type=search]").type("4242")
        self.browser.wait_script("return document.querySelector('.list').textContent.includes('child-004242')")


class Locks(Page):
    def program(self, first, second):
        p = subprocess.Popen([TWO_LOCKS, self.env["PAWL_SERVER"], first, second], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(p.stdout.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.stdin.close)
        self.assertEqual(p.stdout.readline(), b"first\n")
        return p

    def test_a_deadlock_of_two_programs(self):
        one, two = self.program("/jobs/orders", "/jobs/stock"), self.program("/jobs/stock", "/jobs/orders")
        self.go("locks")
        self.browser.wait_script("return document.querySelectorAll('[data-lock]').length === 2")
        self.assertEqual(self.browser.find_all("#deadlock"), [])
        for p in (one, two):
            p.stdin.write(b"\n")
            p.stdin.flush()
        self.browser.wait_text("#deadlock", "A deadlock")
        self.assertEqual(len(self.browser.find_all(".graph path.circle")), 2)
        self.browser.wait_text("#why", "which holds it")
        self.browser.wait_text("#why", "They wait in a circle")
        self.browser.wait_text("[data-lock='/jobs/stock']", "process %d" % two.pid)
        self.check_page()
        self.picture("deadlock")
        two.stdin.close()
        self.assertEqual(one.stdout.readline(), b"second held\n")
        self.browser.wait_script("return document.querySelector('#deadlock') === null")


class Members(Page):
    def setUp(self):
        super().setUp()
        self.members = ensemble.make_members("ppp", self.dir, dict(ensemble.BASE_CONFIG))
        for m in self.members:
            self.addCleanup(m.kill9)
            m.start(wait=False)

    def state(self):
        """{port: role} as the picture has it."""
        script = "return [...document.querySelectorAll('.picture .member')].map((g) => [g.querySelector('.name').textContent, g.getAttribute('class').split(' ')[1]])"
        return {int(name.rsplit(":", 1)[1]): role for name, role in self.browser.run(script)}

    def wait_state(self, wanted, what):
        return self.browser.wait(lambda: (lambda s: wanted(s) and s)(self.state()), what)

    def test_the_leader_dies(self):
        self.use_console(",".join("127.0.0.1:%d" % m.port for m in self.members))
        self.go("overview")
        state = self.wait_state(lambda s: sorted(s.values()) == ["follower", "follower", "leader"], "three members that agree")
        self.check_page()
        self.picture("members")
        leader = next(m for m in self.members if state[m.port] == "leader")
        before = self.place_of(leader)
        leader.kill9()
        self.wait_state(lambda s: sorted(s.values()) == ["down", "follower", "leader"] and s[leader.port] == "down",
                        "another leader, without the page being loaded again")
        self.assertNotEqual(self.place_of(leader), before)
        self.browser.wait_text(".log", "was leader and is down")
        self.browser.wait_text(".big", "2 of 3")
        self.picture("members-without-their-leader")
        leader.start(wait=False)
        self.wait_state(lambda s: sorted(s.values()) == ["follower", "follower", "leader"], "three again")

    def place_of(self, member):
        script = "return [...document.querySelectorAll('.picture .member')].find((g) => g.textContent.includes(arguments[0])).style.transform"
        return self.browser.run(script, ":%d" % member.port)


if __name__ == "__main__":
    daemon.main()
