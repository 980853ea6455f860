# SPDX-License-Identifier: Apache-2.0
"""A real browser, by the WebDriver protocol: Debian's chromium and chromium-driver, nothing else."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from patience import PATIENCE_SECONDS, wait_until

LOOK_SECONDS = 0.05  # a look costs a request to the driver and a script in the page

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
         "--disable-extensions", "--hide-scrollbars", "--force-device-scale-factor=1",
         "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1, EXCLUDE localhost"]
# What WebDriver has for keys that are no characters.
ENTER, TAB, DOWN, UP, END, ESCAPE = "\ue007", "\ue004", "\ue015", "\ue013", "\ue010", "\ue00c"


def is_there():
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


class WebDriverError(Exception):
    pass


class Element:
    def __init__(self, browser, reference):
        self.browser, self.reference = browser, reference

    def _do(self, method, what, body=None):
        return self.browser.command(method, "/element/%s/%s" % (self.reference, what), body)

    def click(self):
        self._do("POST", "click", {})

    def type(self, text):
        self._do("POST", "value", {"text": text})

    def clear(self):
        self._do("POST", "clear", {})

    @property
    def text(self):
        return self._do("GET", "text")


class Browser:
    """One window. close() ends the driver, the browser and its files."""

    def __init__(self, width=1280, height=860, dark=False):
        self.folder = tempfile.mkdtemp(prefix="pawl-browser-")
        self.log = open(os.path.join(self.folder, "driver.log"), "wb")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=self.log,
                                       cwd=self.folder, env=dict(os.environ, HOME=self.folder))
        self.session = None
        try:
            self.port = self._port()
            flags = FLAGS + ["--user-data-dir=" + os.path.join(self.folder, "profile"), "--window-size=%d,%d" % (width, height)]
            if dark:
                flags.append("--force-dark-mode")
            options = {"args": flags, "binary": shutil.which("chromium"), "prefs": {"credentials_enable_service": False}}
            wanted = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                                       "goog:loggingPrefs": {"browser": "ALL"}}}}
            self.session = self._call("POST", "/session", wanted)["sessionId"]
            self.resize(width, height)
        except BaseException:
            self.close()
            raise

    def _port(self):
        while line := self.driver.stdout.readline():
            if b"started successfully on port" in line:
                return int(line.split(b"port")[1].strip(b" .\r\n"))
        raise WebDriverError("chromedriver has not started")

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.port, path), data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise WebDriverError(json.load(error)["value"]["message"].split("\n")[0])

    def command(self, method, what, body=None):
        return self._call(method, "/session/%s%s" % (self.session, what), body)

    def close(self):
        if self.session is not None:
            try:
                self._call("DELETE", "/session/" + self.session)
            except (OSError, WebDriverError):
                pass
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- what a person does ----

    def open(self, url):
        self.command("POST", "/url", {"url": url})

    def resize(self, width, height):
        """The page itself, not the window around it."""
        self.devtools("Emulation.setDeviceMetricsOverride",
                      {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def devtools(self, name, params):
        return self.command("POST", "/goog/cdp/execute", {"cmd": name, "params": params})

    def run(self, script, *args):
        return self.command("POST", "/execute/sync", {"script": script, "args": list(args)})

    def find_all(self, css):
        return [Element(self, e[ELEMENT]) for e in self.command("POST", "/elements", {"using": "css selector", "value": css})]

    def find(self, css):
        """Waits until it is there."""
        found = []

        def look():
            found[:] = self.find_all(css)
            return found
        self.wait(look, css)
        return found[0]

    def wait_text(self, css, text):
        """Until the first of these has the text in it."""
        def look():
            return text in (self.run("const e = document.querySelector(arguments[0]); return e ? e.textContent : ''", css) or "")
        self.wait(look, "%r in %s" % (text, css))

    def wait_script(self, script, *args):
        self.wait(lambda: self.run(script, *args), script)

    @staticmethod
    def wait(condition, what):
        return wait_until(lambda: condition() or time.sleep(LOOK_SECONDS), what)

    def keys(self, text):
        """To whatever has the focus."""
        self.command("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": kind, "value": c} for c in text for kind in ("keyDown", "keyUp")]}]})

    def screenshot(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.command("GET", "/screenshot")))

    def console_errors(self):
        """What the page was refused, or threw."""
        return [e["message"] for e in self.command("POST", "/se/log", {"type": "browser"}) if e["level"] == "SEVERE"]
