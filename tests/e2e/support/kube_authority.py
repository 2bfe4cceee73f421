# SPDX-License-Identifier: Apache-2.0
"""A certificate authority of a test."""
import shutil
import ssl
import subprocess

from support import Skip

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]


def _request(*arguments):
    if not shutil.which("openssl"):
        raise Skip("no openssl: apt-get install openssl")
    subprocess.run(["openssl", "req", "-x509", *KEY, *map(str, arguments)], check=True, capture_output=True)


class Authority:
    def __init__(self, folder, name="authority"):
        self.folder, self.name, self.count = folder, name, 0
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        _request("-subj", f"/CN={name}", "-keyout", self.key, "-out", self.certificate)

    def issue(self, subject, *extensions):
        """A new certificate: (its file, its key's file)."""
        self.count += 1
        base = self.folder / f"{self.name}-{self.count}"
        added = [x for e in (*extensions, "basicConstraints=critical,CA:FALSE") for x in ("-addext", e)]
        _request("-subj", subject, *added, "-CA", self.certificate, "-CAkey", self.key, "-keyout", f"{base}.key", "-out", f"{base}.pem")
        return f"{base}.pem", f"{base}.key"

    def server(self, names="IP:127.0.0.1", clients=None):
        """What a server of these names serves with; clients: the authority whose clients it asks for a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue("/CN=server", f"subjectAltName={names}"))
        if clients:
            context.load_verify_locations(clients.certificate)
            context.verify_mode = ssl.CERT_OPTIONAL
        return context
