# SPDX-License-Identifier: Apache-2.0
"""`pawl console` and its API, for the tests of this folder."""
import base64
import http.client
import json
import re
import urllib.parse

from patience import PATIENCE_SECONDS


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.text = response.read().decode()

    @property
    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return "%d %s" % (self.status, self.text[:500])


class Api:
    """Somebody with curl: keeps the cookie and the token of its log-in."""

    def __init__(self, port):
        self.port = port
        self.cookie = self.csrf = None

    def ask(self, method, path, body=None, headers=None, host="127.0.0.1"):
        c = http.client.HTTPConnection(host, self.port, timeout=PATIENCE_SECONDS)
        try:
            sent = dict(headers or {})
            if self.cookie and "Cookie" not in sent:
                sent["Cookie"] = self.cookie
            if self.csrf and "X-Pawl-Csrf" not in sent:
                sent["X-Pawl-Csrf"] = self.csrf
            if body is not None and not isinstance(body, bytes):
                body = json.dumps(body).encode()
                sent.setdefault("Content-Type", "application/json")
            c.request(method, path, body=body, headers=sent)
            return Answer(c.getresponse())
        finally:
            c.close()

    def get(self, what, headers=None, **args):
        return self.ask("GET", self.url(what, args), headers=headers)

    def url(self, what, args):
        return "/api/v1/" + what + ("?" + urllib.parse.urlencode(args) if args else "")

    def post(self, name, **body):
        return self.ask("POST", "/api/v1/" + name, body)

    def put(self, name, **body):
        return self.ask("PUT", "/api/v1/" + name, body)

    def delete(self, **args):
        return self.ask("DELETE", self.url("node", args))

    def login(self, user="bob", password="secret", **more):
        answer = self.post("login", user=user, password=password, **more)
        if answer.status == 200:
            self.cookie = answer.headers["Set-Cookie"].split(";")[0]
            self.csrf = answer.json["csrf"]
        return answer

    def data(self, path):
        return base64.b64decode(self.get("node", path=path).json["data"])


def console_port(process):
    """Of a `pawl console` that has just been started."""
    line = process.stdout.readline().decode()
    return int(re.search(r"is at http://[^:]+:(\d+)/console", line)[1])
