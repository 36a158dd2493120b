"""Certificates for the servers of `tls`, made with the openssl program."""

import subprocess

CONFIGURATION = """
[ca]
default_ca = authority
[authority]
dir = {folder}
database = {folder}/index.txt
new_certs_dir = {folder}
serial = {folder}/serial
certificate = {folder}/root.pem
private_key = {folder}/root.key
default_md = sha256
policy = any
copy_extensions = copy
unique_subject = no
[any]
commonName = supplied
"""


class Authority:
    """An issuer of certificates with a folder of its own. Files are PEM; a server's has its key and its certificate."""

    def __init__(self, folder, name="Purl's test root"):
        folder.mkdir()
        self.folder = folder
        self.root = folder / "root.pem"
        (folder / "index.txt").touch()
        (folder / "serial").write_text("01\n")
        self.configuration = folder / "authority.conf"
        self.configuration.write_text(CONFIGURATION.format(folder=folder))
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                "-keyout", folder / "root.key", "-out", self.root, "-subj", f"/CN={name}",
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,digitalSignature,keyCertSign,cRLSign")

    def issue(self, name, names="DNS:localhost,IP:127.0.0.1", start="20240101000000Z", end="20491231000000Z",
              extra=(), common_name=None):
        """A certificate for `names`, or without a subjectAltName where they are empty, with its key."""
        key, request, certificate = (self.folder / f"{name}.{suffix}" for suffix in ("key", "csr", "crt"))
        extensions = ([f"subjectAltName={names}"] if names else []) + list(extra)
        additions = [word for text in extensions for word in ("-addext", text)]
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request,
                "-subj", f"/CN={common_name or name}", *additions)
        openssl("ca", "-batch", "-config", self.configuration, "-in", request, "-out", certificate, "-notext",
                "-startdate", start, "-enddate", end)
        whole = self.folder / f"{name}.pem"
        whole.write_text(key.read_text() + certificate.read_text())
        return whole


def openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"FAILED - openssl {words[0]}: {done.stderr}")
