# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 over a Unix socket."""
import http.client
import socket


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)
