# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin that lets kazoo's own tests run on the server under test.

kazoo's harness starts Java servers by itself. Loaded before the tests (pytest -p kazoo_harness),
this module puts its own classes in the place of kazoo's: the same face (run, stop, reset, destroy,
address), but the server comes from servers.py. The package on disk stays as it is.

Environment: KAZOO_SUITE_KINDS = a letter for each server, KAZOO_SUITE_LEFT_OUT = the tests that shall not
run, one per line; the rest is kazoo's (ZOOKEEPER_VERSION, ZOOKEEPER_CLUSTER_SIZE,
ZOOKEEPER_PORT_OFFSET).
"""
import os
import shutil
import signal

import kazoo.testing.common as common
import pytest
import servers

KINDS = {"a": "apache", "p": "pawld"}
TEST_SECONDS = 120  # the slowest of kazoo's tests needs about 25


class ManagedServer:
    """What kazoo.testing.common.ManagedZooKeeper is, on one of our servers."""

    def __init__(self, software_path, server_info, peers=(), classpath=None,
                 configuration_entries=(), java_system_properties=(), jaas_config=None):
        self.server_info = server_info
        self.peers = peers
        self.jaas_config = jaas_config
        kinds = os.environ["KAZOO_SUITE_KINDS"]
        kind = KINDS[kinds[(server_info.server_id - 1) % len(kinds)]]
        config = self.make_config(configuration_entries, java_system_properties)
        self.server = servers.make(kind, config=config, port=server_info.client_port)
        if jaas_config and kind == "apache":
            self.server.java_opts.append("-Djava.security.auth.login.config=" + self.jaas_path())
        elif jaas_config:
            self.server.config["java.security.auth.login.config"] = self.jaas_path()

    def make_config(self, entries, properties):
        """The settings kazoo's own harness writes, as one dictionary."""
        config = {
            "authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
            "readonlymode.enabled": "true",
        }
        settings = list(entries) + [p[len("-D"):] for p in properties]
        config.update(setting.split("=", 1) for setting in settings)
        if self.peers:
            config.update(initLimit="10", syncLimit="5", peerType=self.server_info.peer_type)
            for p in (self.server_info,) + tuple(self.peers):
                config["server.%d" % p.server_id] = "127.0.0.1:%d:%d:%s" % (
                    p.leader_port, p.election_port, p.peer_type)
        return config

    def jaas_path(self):
        path = os.path.join(self.server.dir, "jaas.conf")
        with open(path, "w") as f:
            f.write(self.jaas_config)
        return path

    def spawn(self):
        if self.running:
            return
        if self.peers:
            with open(os.path.join(self.server.data_dir, "myid"), "w") as f:
                f.write("%d\n" % self.server_info.server_id)
        self.server.start(wait=False)

    def run(self):
        self.spawn()
        self.server.wait_ready()

    @property
    def address(self):
        return self.server.address

    @property
    def client_port(self):
        return self.server_info.client_port

    @property
    def running(self):
        return self.server.running()

    def stop(self):
        if self.server.process is not None and self.server.process.returncode is None:
            self.server.end()

    def reset(self):
        self.stop()
        shutil.rmtree(self.server.data_dir)
        os.mkdir(self.server.data_dir)

    def destroy(self):
        try:
            self.stop()
        finally:
            self.server.close()


def start_cluster(cluster):
    for member in cluster:
        member.spawn()
    for member in cluster:
        member.server.wait_ready()


common.ManagedZooKeeper = ManagedServer
common.ZookeeperCluster.start = start_cluster


def pytest_collection_modifyitems(config, items):
    left_out = set(os.environ["KAZOO_SUITE_LEFT_OUT"].split("\n")) - {""}
    unknown = left_out - {item.nodeid for item in items}
    if unknown and len(items) > 400:  # the whole suite was asked for
        raise pytest.UsageError("left out but unknown: %s" % ", ".join(sorted(unknown)))
    config.hook.pytest_deselected(items=[i for i in items if i.nodeid in left_out])
    items[:] = [i for i in items if i.nodeid not in left_out]


def too_slow(signum, frame):
    raise TimeoutError("the test did not end within %d s" % TEST_SECONDS)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """No test hangs the suite: a clock of its own stops it."""
    signal.signal(signal.SIGALRM, too_slow)
    signal.alarm(TEST_SECONDS)
    yield
    signal.alarm(0)
