# SPDX-License-Identifier: Apache-2.0
"""Somebody else who has a port."""
import socket
import threading


class Stranger:
    """Takes all connections that come to the port, keeps them in `taken`, and says nothing."""

    def __init__(self, port):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.listener.bind(("127.0.0.1", port))
            self.listener.listen()
        except OSError:
            self.listener.close()
            raise
        self.taken = []
        self.thread = threading.Thread(target=self.take, daemon=True)
        self.thread.start()

    def take(self):
        while True:
            try:
                self.taken.append(self.listener.accept()[0])
            except OSError:
                return

    def leave(self):
        """The second time nothing happens."""
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # accept() returns
        except OSError:
            return
        self.thread.join()
        self.listener.close()
        for s in self.taken:
            s.close()
