# SPDX-License-Identifier: Apache-2.0
"""A proxy in front of a quorum port that cuts a link in the middle of its n-th packet.

Packets of both directions are counted together, in the order in which they pass; a snapshot's stream is
one packet. Everything that comes over later links passes. Or it swallows all that comes, so that a leader
is alone with its proposals and nobody notices before time is up.
"""
import socket
import struct
import threading

from patience import free_port

SIGNATURE = b"\0\0\0\nBenWasHere"
SNAP = 15
NAMES = {1: "REQUEST", 2: "PROPOSAL", 3: "ACK", 4: "COMMIT", 5: "PING", 6: "REVALIDATE", 7: "SYNC",
         8: "INFORM", 10: "NEWLEADER", 11: "FOLLOWERINFO", 12: "UPTODATE", 13: "DIFF", 14: "TRUNC",
         15: "SNAP", 16: "OBSERVERINFO", 17: "LEADERINFO", 18: "ACKEPOCH", None: "the tree"}


class Packets:
    """Cuts what arrives from one side into packets."""

    def __init__(self):
        self.data = b""
        self.in_stream = False

    def take(self, data):
        """(kind, bytes) of each packet that is complete now; kind is None for a tree."""
        self.data += data
        while True:
            length = self.stream_length() if self.in_stream else self.packet_length()
            if length is None or length > len(self.data):
                return
            kind = None if self.in_stream else struct.unpack(">i", self.data[:4])[0]
            packet, self.data = self.data[:length], self.data[length:]
            self.in_stream = kind == SNAP
            yield kind, packet

    def stream_length(self):
        end = self.data.find(SIGNATURE)
        return None if end < 0 else end + len(SIGNATURE)

    def packet_length(self):
        end = self.behind_buffer(12)
        if end is None or len(self.data) < end + 4:
            return None
        n_ids = struct.unpack(">i", self.data[end:end + 4])[0]
        end += 4
        for _ in range(2 * max(n_ids, 0)):  # scheme and id of each
            end = self.behind_buffer(end)
            if end is None:
                return None
        return end

    def behind_buffer(self, at):
        if len(self.data) < at + 4:
            return None
        return at + 4 + max(struct.unpack(">i", self.data[at:at + 4])[0], 0)


class QuorumProxy:
    def __init__(self, target_port):
        self.target_port = target_port
        self.port = free_port()
        self.lock = threading.Lock()
        self.cut_at = None  # the number of the packet that does not arrive whole
        self.swallows = False
        self.passed = []    # names of packets, since it was armed
        self.was_cut = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=16)
        threading.Thread(target=self.accept, daemon=True).start()

    def arm(self, n):
        """The next link is cut in the middle of its n-th packet; None: never."""
        with self.lock:
            self.cut_at, self.passed = n, []
            self.was_cut.clear()

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            try:
                there = socket.create_connection(("127.0.0.1", self.target_port), 10)
            except OSError:
                here.close()
                continue
            for sock in (here, there):
                sock.settimeout(None)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for pair in ((here, there), (there, here)):
                threading.Thread(target=self.pump, args=pair, daemon=True).start()

    def pump(self, source, sink):
        packets = Packets()
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    break
                for kind, packet in packets.take(data):
                    if not self.may_pass(kind):
                        self.was_cut.set()  # also if nobody is there to take the half
                        sink.sendall(packet[:len(packet) // 2])
                        raise OSError("cut")
                    if not self.swallows:
                        sink.sendall(packet)
        except OSError:
            pass
        for sock in (source, sink):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            # The other direction's thread sees the end; the last one to leave frees it.

    def may_pass(self, kind):
        with self.lock:
            self.passed.append(NAMES.get(kind, str(kind)))
            if self.cut_at is None or len(self.passed) < self.cut_at:
                return True
            self.cut_at = None
            return False
