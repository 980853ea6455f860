#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus looks at an ensemble: it takes conf/prometheus-alerts.yml, every expression of
conf/grafana-dashboard.json finds something, and a member that is killed is reported.

Its package is unpacked below the build folder and not installed: installing it starts a service. Without a
package to be had the test is skipped. (Apache's server has its metrics from a jar that Debian does not pack.)
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import pawld_ensemble
import servers
import zkwire as zk
from ensemble import Ensemble
from patience import free_port, wait_until

SKIP = 77
SECONDS = 300
PROVIDER = "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider"
CONF = os.path.join(servers.REPO, "conf")
HERE = os.path.dirname(os.path.abspath(__file__))


def unpacked(folder):
    """Where the programs of Debian's package are, or None."""
    if os.path.exists(folder):
        return os.path.join(folder, "usr", "bin")
    scratch = tempfile.mkdtemp(prefix="prometheus-")
    try:
        for command in (["apt-get", "-qq", "download", "prometheus"], ["sh", "-c", "dpkg -x *.deb root"]):
            if subprocess.run(command, cwd=scratch, stderr=subprocess.DEVNULL).returncode != 0:
                return None
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        shutil.move(os.path.join(scratch, "root"), folder)
        return os.path.join(folder, "usr", "bin")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def programs():
    installed = shutil.which("prometheus"), shutil.which("promtool")
    if all(installed):
        return installed
    pawld = os.environ.get("PAWLD", os.path.join(servers.REPO, "build", "bin", "pawld"))
    folder = unpacked(os.path.join(os.path.dirname(os.path.dirname(pawld)), "test", "prometheus"))
    if folder is None:
        print("no prometheus, and no package of it to be had: skipped")
        sys.exit(SKIP)
    return os.path.join(folder, "prometheus"), os.path.join(folder, "promtool")


def check_rules(promtool, scratch):
    """The rules are read, and say of made-up servers what they are to say."""
    shutil.copy(os.path.join(CONF, "prometheus-alerts.yml"), os.path.join(scratch, "alerts.yml"))
    shutil.copy(os.path.join(HERE, "alerts_test.yml"), scratch)
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        subprocess.run([promtool] + command, cwd=scratch, check=True)


class Prometheus:
    def __init__(self, program, scratch, targets):
        self.address = "127.0.0.1:%d" % free_port()
        config = os.path.join(scratch, "prometheus.yml")
        with open(config, "w") as f:
            json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                       "rule_files": ["alerts.yml"],
                       "scrape_configs": [{"job_name": "pawl",
                                           "static_configs": [{"targets": targets}]}]}, f)
        self.log = os.path.join(scratch, "prometheus.log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [program, "--config.file=" + config, "--storage.tsdb.path=" + os.path.join(scratch, "data"),
                 "--web.listen-address=" + self.address], stdout=log, stderr=log)

    def ask(self, path, **arguments):
        if self.process.poll() is not None:
            with open(self.log) as f:
                raise RuntimeError("prometheus has ended:\n" + f.read())
        url = "http://%s/api/v1/%s?%s" % (self.address, path, urllib.parse.urlencode(arguments))
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as e:
            if e.code == 503:
                return None  # it is starting
            raise RuntimeError("%s: %s" % (url, e.read().decode())) from e
        except OSError:
            return None  # it does not listen yet

    def samples(self, expression):
        data = self.ask("query", query=expression)
        return data["result"] if data is not None else []

    def stop(self):
        self.process.terminate()
        self.process.wait()


def dashboard_expressions():
    with open(os.path.join(CONF, "grafana-dashboard.json")) as f:
        board = json.load(f)
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$job", "pawl").replace("$__rate_interval", "1m")


def have_traffic(member):
    conn = pawld_ensemble.connect(member)
    for k in range(20):
        path = "/traffic-%d-%d" % (member.number, k)
        pawld_ensemble.create(conn, path)
        conn.call(zk.GET_DATA, {"path": path, "watch": False})
    conn.end_session()


def rules_are_good(prometheus):
    data = prometheus.ask("rules")
    rules = [r for g in data["groups"] for r in g["rules"]] if data is not None else []
    bad = [(r["name"], r["lastError"]) for r in rules if r["health"] == "err"]
    assert not bad, bad
    return len(rules) > 10 and all(r["health"] == "ok" for r in rules)


def story(prometheus, ensemble):
    wait_until(lambda: len(prometheus.samples("up == 1")) == len(ensemble.members), "all are scraped", SECONDS)
    for m in ensemble.members:
        have_traffic(m)
    wait_until(lambda: rules_are_good(prometheus), "the rules are evaluated", SECONDS)
    n = 0
    for title, expression in dashboard_expressions():
        wait_until(lambda: prometheus.samples(expression), "%s: %s" % (title, expression), SECONDS)
        n += 1
    print("%d expressions of the dashboard find something" % n, flush=True)
    follower = next(m for m in ensemble.members if m.mode() == "follower")
    follower.kill9()
    for alert in ("ServerDown", "FollowerMissing"):
        wait_until(lambda: prometheus.samples('ALERTS{alertname="%s"}' % alert), alert, SECONDS)


def main():
    program, promtool = programs()
    scratch = tempfile.mkdtemp(prefix="pawl-prometheus-")
    check_rules(promtool, scratch)
    ensemble = Ensemble("ppp")
    for m in ensemble.members:
        m.config.update({"metricsProvider.className": PROVIDER, "metricsProvider.httpHost": "127.0.0.1",
                         "metricsProvider.httpPort": str(free_port())})
    with ensemble:
        prometheus = Prometheus(program, scratch,
                                ["127.0.0.1:" + m.config["metricsProvider.httpPort"] for m in ensemble.members])
        try:
            story(prometheus, ensemble)
        finally:
            prometheus.stop()
    shutil.rmtree(scratch, ignore_errors=True)
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
