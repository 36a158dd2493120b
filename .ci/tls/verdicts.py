"""Chains of certificates, good and bad: Purl's verdict beside curl's, with the same root and the same server."""

import os
import re
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from authority import openssl
from report import expect, wait_until
from secure_servers import SecureNginx, is_listening
from surroundings import free_port

HOST = "www.example.test"

# Why Purl refuses what curl loads.
NO_COMMON_NAME = "RFC 9525 §2: a Common Name is not the name of a host"
STAPLE_COUNTS = "curl looks at stapled responses with --cert-status alone"
NO_OLD_KEYS = "RFC 9325 §4.1: no key exchange with RSA, and no finite fields that the server chooses"
MUST_STAPLE = "RFC 7633: the certificate requires a stapled response"

# Rows that come once more, with nginx in the place of s_server.
ON_NGINX = {
    "RSA, 2,048 bits", "ECDSA, P-256", "ECDSA, P-384", "Ed25519", "TLS 1.2 alone", "TLS 1.3 alone", "a wildcard", "an IPv4 address",
    "an intermediate", "six intermediates", "the root is sent as well", "a name within constraints",
    "a stapled response: good", "a stapled response, required: good",
    "expired", "not yet valid", "another host", "a wildcard one level too deep", "a Common Name alone", "a NUL in the name",
    "self-signed", "an unknown root", "the intermediate is missing", "the intermediate may not sign", "the path is too long",
    "a name outside of constraints", "for clients alone", "revoked, by a stapled response of the intermediate's",
    "the same with TLS 1.2", "a required stapled response is missing"}

CONFIGURATION = """
[ca]
default_ca = issuer
[issuer]
database = {folder}/index.txt
new_certs_dir = {folder}
serial = {folder}/serial
certificate = {certificate}
private_key = {key}
default_md = {digest}
policy = any
unique_subject = no
x509_extensions = extensions
[any]
commonName = optional
[extensions]
subjectKeyIdentifier = hash
{extensions}
"""

KEYS = {
    "p256": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "p384": ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
    "ed25519": ["ed25519"], "rsa512": ["rsa:512"], "rsa1024": ["rsa:1024"], "rsa2048": ["rsa:2048"],
    "rsa4096": ["rsa:4096"]}

CA = ("basicConstraints = critical,CA:TRUE", "keyUsage = critical,digitalSignature,keyCertSign,cRLSign")
SERVER = ("basicConstraints = critical,CA:FALSE", "keyUsage = critical,digitalSignature,keyEncipherment",
          "extendedKeyUsage = serverAuth")
NOW = ("20240101000000Z", "20491231000000Z")
PAST = ("20200101000000Z", "20210101000000Z")
FUTURE = ("20480101000000Z", "20491231000000Z")


class Certificate:
    """A certificate with its key and the certificates of its issuers, in a folder of its own."""

    def __init__(self, folder, subject, issuer=None, key="p256", dates=NOW, extensions=SERVER, names=None,
                 digest="sha256", key_of=None):
        folder.mkdir()
        self.folder, self.issuer = folder, issuer
        self.certificate = folder / "certificate.pem"
        self.key = key_of.key if key_of else folder / "key.pem"
        request, configuration = folder / "request.pem", folder / "configuration"
        new = ["-new", "-key", self.key] if key_of else ["-newkey", *KEYS[key], "-nodes", "-keyout", self.key]
        openssl("req", *new, "-subj", f"/CN={subject}" if subject else "/", "-out", request)
        signer = issuer or self
        lines = [*extensions] + ([f"subjectAltName = {names}"] if names else [])
        (signer.folder / "index.txt").touch()
        if not (signer.folder / "serial").exists():
            (signer.folder / "serial").write_text("1000\n")
        configuration.write_text(CONFIGURATION.format(
            folder=signer.folder, certificate=signer.certificate, key=signer.key, extensions="\n".join(lines),
            digest="default" if "ed25519" in (key if signer is self else "") else digest))
        itself = ["-selfsign"] if issuer is None else []
        openssl("ca", "-batch", "-config", configuration, "-in", request, "-out", self.certificate, "-notext", *itself,
                "-startdate", dates[0], "-enddate", dates[1])

    @property
    def text(self):
        return self.certificate.read_text()


class Maker:
    """Makes certificates below one root."""

    def __init__(self, folder):
        self.folder = folder
        self.count = 0
        self.root = self.issuer("Purl's test root", None)
        self.stranger = self.issuer("A root that is not known", None)

    def make(self, subject, issuer, **options):
        self.count += 1
        return Certificate(self.folder / str(self.count), subject, issuer, **options)

    def issuer(self, name, issuer, extensions=CA, **options):
        return self.make(name, issuer, extensions=extensions, **options)

    def server(self, names=f"DNS:{HOST}", issuer=None, subject="server", **options):
        return self.make(subject, issuer or self.root, names=names, **options)

    def responder(self, issuer, key):
        """What an issuer has sign responses about revocation in its place."""
        purpose = ("basicConstraints = critical,CA:FALSE", "keyUsage = critical,digitalSignature",
                   "extendedKeyUsage = OCSPSigning")
        return self.make("Responder", issuer, extensions=purpose, key=key)

    def staple(self, certificate, status="V", signer=None, name_by="sha1", digest="sha256", has_next=True, options=()):
        """The file of a response about a certificate's revocation, signed by its issuer or by another one.

        It names the certificate by the digest `name_by`, is signed over `digest`, and may say when the next one comes.
        """
        issuer = certificate.issuer
        serial = subprocess.run(["openssl", "x509", "-in", certificate.certificate, "-noout", "-serial"],
                                capture_output=True, text=True, check=True).stdout.strip().split("=")[1]
        index = certificate.folder / "status.txt"
        revoked = "240601000000Z" if status == "R" else ""
        index.write_text(f"{status}\t491231000000Z\t{revoked}\t{serial}\tunknown\t/CN=server\n")
        self.count += 1
        target = certificate.folder / f"response-{self.count}.der"
        signer = signer or issuer
        openssl("ocsp", "-index", index, "-CA", issuer.certificate, "-rsigner", signer.certificate, "-rkey", signer.key,
                "-issuer", issuer.certificate, f"-{name_by}", "-cert", certificate.certificate, "-rmd", digest,
                *(("-ndays", "1") if has_next else ()), *options, "-respout", target)
        return target


@dataclass
class Chain:
    """A server, and what is expected of the clients."""

    title: str
    certificate: Certificate
    # Whether the server is to be trusted.
    good: bool
    # The certificates of issuers that it sends.
    sent: tuple = ()
    host: str = HOST
    root: Certificate | None = None
    options: tuple = ()
    # Why Purl refuses it though curl loads it.
    stricter: str = ""
    curl: tuple = ()
    address: str = "127.0.0.1"
    # What someone on the way makes of what the clients send, and of what the server sends.
    changes: tuple = ()
    nginx: bool = False

    @property
    def from_nginx(self):
        return replace(self, title=f"{self.title}, from nginx", nginx=True)

    @property
    def nginx_options(self):
        """nginx's words for the options of s_server."""
        versions = {"-tls1_2": "TLSv1.2", "-tls1_3": "TLSv1.3"}
        chosen = [versions[word] for word in self.options if word in versions]
        words = f"ssl_protocols {' '.join(chosen or versions.values())};"
        if "-status_file" in self.options:
            words += f" ssl_stapling on; ssl_stapling_file {self.options[self.options.index('-status_file') + 1]};"
        return words


def chains(make):
    root, server, issuer = make.root, make.server, make.issuer
    weak = ("-cipher", "ALL:@SECLEVEL=0")
    middle = issuer("An intermediate", root)
    long = [middle]
    for number in range(2, 7):
        long.append(issuer(f"Intermediate {number}", long[-1]))
    crossed = issuer("A root that is known", None)
    cross = make.make("A root that is known", make.stranger, extensions=CA, key_of=crossed)
    permits = issuer("Permits example.test", root, extensions=[*CA, "nameConstraints = critical,permitted;DNS:example.test"])
    excludes = issuer("Excludes example.test", root, extensions=[*CA, "nameConstraints = critical,excluded;DNS:example.test"])
    elsewhere = issuer("Permits other.test", root, extensions=[*CA, "nameConstraints = critical,permitted;DNS:other.test"])
    short = issuer("Without issuers below", root, extensions=["basicConstraints = critical,CA:TRUE,pathlen:0", CA[1]])
    below_short = issuer("Below it", short)
    no_issuer = server(subject="Not an issuer")
    cannot_sign = issuer("May not sign", root, extensions=[CA[0], "keyUsage = critical,digitalSignature"])
    expired_middle = issuer("Expired intermediate", root, dates=PAST)
    expired_root = issuer("Expired root", None, dates=PAST)
    sha1_middle = issuer("SHA-1 intermediate", root, digest="sha1")
    small_middle = issuer("Small intermediate", root, key="rsa1024")
    sha1_root = issuer("SHA-1 root", None, digest="sha1")
    rsa_root = issuer("RSA root", None, key="rsa2048")
    one = server()
    itself = make.make("itself", None, names=f"DNS:{HOST}")
    # curl finds the issuer for --cert-status only among what the server sends.
    stapled, revoked_below = server(issuer=middle), server(issuer=middle)
    revoked, forged = server(), server()
    must_plain, must_stapled, must_revoked = (server(extensions=[*SERVER, "tlsfeature = status_request"]) for _ in range(3))
    damaged = server()
    damage(damaged)
    responder, small_responder = make.responder(root, "rsa2048"), make.responder(root, "rsa1024")
    pss = ("-rsigopt", "rsa_padding_mode:pss")

    def status(file):
        return ("-status_file", file)

    good = [
        ("RSA, 2,048 bits", server(key="rsa2048"), {}),
        ("RSA, 4,096 bits", server(key="rsa4096"), {}),
        ("RSA under a root with RSA", server(key="rsa2048", issuer=rsa_root), {"root": rsa_root}),
        ("ECDSA, P-256", one, {}),
        ("ECDSA, P-384", server(key="p384"), {}),
        ("Ed25519", server(key="ed25519"), {}),
        ("TLS 1.2 alone", one, {"options": ("-tls1_2",)}),
        ("TLS 1.3 alone", one, {"options": ("-tls1_3",)}),
        ("one of many names", server(",".join(f"DNS:host{i}.test" for i in range(100)) + f",DNS:{HOST}"), {}),
        ("a name in capitals", server("DNS:WWW.Example.TEST"), {}),
        ("a host with a dot at its end", one, {"host": HOST + "."}),
        ("a wildcard", server("DNS:*.example.test"), {}),
        ("an international name", server("DNS:xn--mnchen-3ya.test"), {"host": "xn--mnchen-3ya.test"}),
        ("an IPv4 address", server("IP:127.0.0.1"), {"host": "127.0.0.1"}),
        ("an IPv6 address", server("IP:::1"), {"host": "[::1]", "address": "::1"}),
        ("an intermediate", server(issuer=middle), {"sent": (middle,)}),
        ("six intermediates", server(issuer=long[-1]), {"sent": tuple(reversed(long))}),
        ("six intermediates in another order", server(issuer=long[-1]), {"sent": tuple(long)}),
        ("the root is sent as well", server(issuer=middle), {"sent": (middle, root)}),
        ("another certificate is sent as well", server(issuer=middle), {"sent": (make.stranger, middle)}),
        ("a cross-signed root, one way known", server(issuer=crossed), {"sent": (cross,), "root": crossed}),
        ("a cross-signed root, the other way known", server(issuer=crossed), {"sent": (cross,), "root": make.stranger}),
        ("a name within constraints", server(issuer=permits), {"sent": (permits,)}),
        ("an intermediate is the root that is trusted", server(issuer=middle), {"sent": (), "root": middle}),
        ("the server's own certificate is trusted", itself, {"root": itself}),
        ("a root with SHA-1 in its own signature", server(issuer=sha1_root), {"root": sha1_root}),
        ("any purpose", server(extensions=[*SERVER[:2], "extendedKeyUsage = anyExtendedKeyUsage,serverAuth"]), {}),
        ("no purpose named", server(extensions=SERVER[:2]), {}),
        ("a stapled response: good", stapled, {"options": status(make.staple(stapled)), "sent": (middle,), "curl": ("--cert-status",)}),
        ("a stapled response, required: good", must_stapled, {"options": status(make.staple(must_stapled))}),
        ("the same, of now, without the time of the next one", must_stapled,
         {"options": status(make.staple(must_stapled, digest="sha384", has_next=False))}),
        ("a stapled response, required, of a responder with RSA", must_stapled,
         {"options": status(make.staple(must_stapled, signer=responder))}),
        ("a stapled response, required, of a responder with RSA-PSS", must_stapled,
         {"options": status(make.staple(must_stapled, signer=responder, options=pss))}),
        ("a stapled response of a stranger counts as none", forged,
         {"options": status(make.staple(forged, "R", signer=make.stranger))}),
    ]
    bad = [
        ("expired", server(dates=PAST), {}),
        ("not yet valid", server(dates=FUTURE), {}),
        ("another host", server("DNS:other.test"), {}),
        ("the domain above", server("DNS:example.test"), {}),
        ("a wildcard one level too deep", server("DNS:*.example.test"), {"host": "a.www.example.test"}),
        ("a wildcard for the domain itself", server("DNS:*.example.test"), {"host": "example.test"}),
        ("a wildcard within a label", server("DNS:w*.example.test"), {}),
        ("a wildcard in the middle", server("DNS:www.*.test"), {}),
        ("a wildcard within an international label", server("DNS:xn--*-3ya.test"), {"host": "xn--mnchen-3ya.test"}),
        ("*", server("DNS:*"), {"host": "localhost"}),
        ("*.*.test", server("DNS:*.*.test"), {}),
        ("*.test, a public suffix", server("DNS:*.test"), {"host": "example.test"}),
        ("a Common Name alone", server(None, subject=HOST), {"stricter": NO_COMMON_NAME}),
        ("a Common Name beside a mailbox", server("email:me@example.test", subject=HOST), {"stricter": NO_COMMON_NAME}),
        ("a Common Name beside another name", server("DNS:other.test", subject=HOST), {}),
        ("a NUL in the name", server(nul_name()), {}),
        ("an address as a name", server("DNS:127.0.0.1"), {"host": "127.0.0.1"}),
        ("an address as Common Name", server(None, subject="127.0.0.1"),
         {"host": "127.0.0.1", "stricter": NO_COMMON_NAME}),
        ("another address", server("IP:127.0.0.2"), {"host": "127.0.0.1"}),
        ("a name for an address", server("IP:127.0.0.1"), {}),
        ("self-signed", itself, {}),
        ("an unknown root", server(issuer=make.stranger), {}),
        ("an unknown root that is sent as well", server(issuer=make.stranger), {"sent": (make.stranger,)}),
        ("the intermediate is missing", server(issuer=middle), {}),
        ("one of six intermediates is missing", server(issuer=long[-1]), {"sent": (long[5], long[4], long[2], long[1], long[0])}),
        ("the intermediate is another server", server(issuer=no_issuer), {"sent": (no_issuer,)}),
        ("the intermediate may not sign", server(issuer=cannot_sign), {"sent": (cannot_sign,)}),
        ("the path is too long", server(issuer=below_short), {"sent": (below_short, short)}),
        ("a name outside of constraints", server(issuer=elsewhere), {"sent": (elsewhere,)}),
        ("a name that constraints exclude", server(issuer=excludes), {"sent": (excludes,)}),
        ("an intermediate has expired", server(issuer=expired_middle), {"sent": (expired_middle,)}),
        ("the root has expired", server(issuer=expired_root), {"root": expired_root}),
        ("for clients alone", server(extensions=[*SERVER[:2], "extendedKeyUsage = clientAuth"]), {}),
        ("for signatures of code", server(extensions=[*SERVER[:2], "extendedKeyUsage = codeSigning"]), {}),
        ("a key that may not sign handshakes", server(extensions=[SERVER[0], "keyUsage = critical,cRLSign", SERVER[2]]), {}),
        ("an unknown critical extension", server(extensions=[*SERVER, "1.2.3.4.5 = critical,ASN1:UTF8String:new"]), {}),
        ("a damaged signature", damaged, {}),
        ("a signature with MD5", server(digest="md5", issuer=rsa_root), {"root": rsa_root, "options": weak}),
        ("a signature with SHA-1", server(digest="sha1"), {"options": weak}),
        ("an intermediate's signature with SHA-1", server(issuer=sha1_middle), {"sent": (sha1_middle,), "options": weak}),
        ("RSA, 512 bits", server(key="rsa512"), {"options": (*weak, "-tls1_2")}),
        ("RSA, 1,024 bits", server(key="rsa1024"), {"options": weak}),
        ("an intermediate with RSA, 1,024 bits", server(issuer=small_middle), {"sent": (small_middle,), "options": weak}),
        ("revoked, by a stapled response, and curl does not look", revoked,
         {"options": status(make.staple(revoked, "R")), "stricter": STAPLE_COUNTS}),
        ("revoked, by a stapled response of the intermediate's", revoked_below,
         {"options": status(make.staple(revoked_below, "R")), "sent": (middle,), "curl": ("--cert-status",)}),
        ("the same with TLS 1.2", revoked_below,
         {"options": (*status(make.staple(revoked_below, "R")), "-tls1_2"), "sent": (middle,),
          "curl": ("--cert-status",)}),
        *((f"revoked, by a stapled response that names it by {name_by.upper()}", revoked,
           {"options": status(make.staple(revoked, "R", name_by=name_by)), "stricter": STAPLE_COUNTS})
          for name_by in ("sha256", "sha384", "sha512")),
        ("a required stapled response is missing", must_plain, {"stricter": MUST_STAPLE}),
        ("a required stapled response is signed over SHA-1", must_revoked,
         {"options": status(make.staple(must_revoked, digest="sha1")), "stricter": MUST_STAPLE}),
        ("a required stapled response is signed with RSA, 1,024 bits", must_revoked,
         {"options": status(make.staple(must_revoked, signer=small_responder)), "stricter": MUST_STAPLE}),
        ("a required stapled response is signed with RSA-PSS over SHA-1", must_revoked,
         {"options": status(make.staple(must_revoked, signer=responder, digest="sha1", options=pss)),
          "stricter": MUST_STAPLE}),
        ("a damaged extension that may require a stapled response",
         server(extensions=[*SERVER, "1.3.6.1.5.5.7.1.24 = DER:0101"]), {"stricter": MUST_STAPLE}),
        ("a required stapled response is a stranger's", must_revoked,
         {"options": status(make.staple(must_revoked, signer=make.stranger)), "stricter": MUST_STAPLE}),
        ("TLS 1.2, key exchange with RSA", server(key="rsa2048"),
         {"options": ("-tls1_2", "-cipher", "AES128-GCM-SHA256"), "stricter": NO_OLD_KEYS}),
        ("TLS 1.2, finite fields", server(key="rsa2048"),
         {"options": ("-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256"), "stricter": NO_OLD_KEYS}),
        ("TLS 1.0 alone", one, {"options": ("-tls1", *weak)}),
        ("TLS 1.1 alone", one, {"options": ("-tls1_1", *weak)}),
        ("ciphers without encryption", server(key="rsa2048"), {"options": ("-tls1_2", "-cipher", "eNULL:@SECLEVEL=0")}),
        ("ciphers without a certificate", one, {"options": ("-tls1_2", "-cipher", "aNULL:@SECLEVEL=0")}),
        ("a protocol that was not offered alone (ALPN)", one, {"options": ("-alpn", "h2"), "curl": ("--http1.1",)}),
        # OpenSSL 3 has no such ciphers that a server could be told to choose: it is put into the server's hello.
        ("an export cipher", server(key="rsa2048"), {"options": ("-tls1_2",), "changes": (as_it_is, with_export_cipher)}),
        ("downgraded on the way", one, {"changes": (without_newest, as_it_is)}),
    ]
    return ([Chain(title, certificate, True, **options) for title, certificate, options in good]
            + [Chain(title, certificate, False, **options) for title, certificate, options in bad])


def nul_name():
    """A subjectAltName of a host, a NUL and the end of another host, in DER: OpenSSL's syntax has none."""
    name = f"{HOST}\0.evil.test".encode()
    name = bytes([0x82, len(name)]) + name
    return "DER:" + (bytes([0x30, len(name)]) + name).hex(":")


def damage(certificate):
    """Changes a bit in the certificate's signature."""
    der = certificate.folder / "damaged.der"
    openssl("x509", "-in", certificate.certificate, "-outform", "DER", "-out", der)
    content = bytearray(der.read_bytes())
    content[-3] ^= 1
    der.write_bytes(content)
    openssl("x509", "-in", der, "-inform", "DER", "-out", certificate.certificate)


class Verdicts:
    """Runs both clients against every chain."""

    def __init__(self, subject, folder, environment):
        self.subject = subject
        self.environment = environment
        self.folder = folder
        self.maker = Maker(folder)
        (folder / "documents").mkdir()
        (folder / "documents" / "small.txt").write_text("hello over TLS\n")

    def run(self, report):
        all_chains = chains(self.maker)
        all_chains += [chain.from_nginx for chain in all_chains if chain.title in ON_NGINX]
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            rows = list(pool.map(self.verdicts, all_chains))
        width = max(len(chain.title) for chain in all_chains)
        print(f"# {'chain':{width}}  {'curl':8}  Purl", flush=True)
        for chain, (curl, purl, reason) in zip(all_chains, rows):
            print(f"# {chain.title:{width}}  {self.word(curl):8}  {self.word(purl)}{'  ' + reason if reason else ''}"
                  + (f"  [{chain.stricter}]" if chain.stricter else ""), flush=True)
        for chain, row in zip(all_chains, rows):
            report.check(f"verdict: {chain.title}", self.judge, chain, *row)

    @staticmethod
    def word(loads):
        return "loads" if loads else "refuses"

    def judge(self, chain, curl, purl, reason):
        expect(purl == chain.good, f"Purl {self.word(purl)} it: {reason}")
        expect(curl or not purl, "Purl is laxer than curl")
        stricter = curl and not purl
        expect(stricter == bool(chain.stricter), f"curl {self.word(curl)} it, Purl {self.word(purl)} it: {reason}")

    def verdicts(self, chain):
        certificate = chain.certificate
        # A file of its own for each, as many run at once.
        sent = self.folder / f"sent-{id(chain)}.pem"
        sent.write_text("".join(issuer.text for issuer in chain.sent))
        root = self.folder / f"root-{id(chain)}.pem"
        root.write_text((chain.root or self.maker.root).text)
        with (self.nginx if chain.nginx else self.s_server)(chain, sent) as port:
            with changing(port, *chain.changes) if chain.changes else plain(port) as port:
                url = f"https://{chain.host}:{port}/small.txt"
                resolve = [] if ":" in chain.host else ["--resolve", f"*:{port}:127.0.0.1"]
                curl = subprocess.run(
                    ["curl", "--silent", "--max-time", "10", "--cacert", root, "--output", "/dev/null", *chain.curl, *resolve,
                     url], env=self.environment)
                done = subprocess.run(
                    [str(word) for word in [self.subject, "--local", "--cacert", root, "--timeout", "10", url]],
                    capture_output=True, text=True, env=self.environment, timeout=60)
        line = done.stdout.strip()
        loads = line.startswith("ok 200")
        return curl.returncode == 0, loads, "" if loads else line.removeprefix("error ")

    @contextmanager
    def s_server(self, chain, sent):
        certificate, port = chain.certificate, free_port()
        words = ["openssl", "s_server", "-accept", f"[{chain.address}]:{port}" if ":" in chain.address
                 else f"{chain.address}:{port}", "-cert", certificate.certificate, "-key", certificate.key, "-WWW", "-quiet",
                 *chain.options]
        if chain.sent:
            words += ["-cert_chain", sent]
        process = subprocess.Popen([str(word) for word in words], cwd=self.folder / "documents", stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: process.poll() is not None or listens(chain.address, port), "s_server to listen")
            expect(process.poll() is None, f"s_server does not start: {' '.join(map(str, words))}")
            yield port
        finally:
            process.kill()
            process.wait()

    @contextmanager
    def nginx(self, chain, sent):
        folder = self.folder / f"nginx-{id(chain)}"
        folder.mkdir()
        everything = folder / "everything.pem"
        everything.write_text(chain.certificate.key.read_text() + chain.certificate.text + sent.read_text())
        server = SecureNginx(folder, self.folder / "documents", 1, everything, options=chain.nginx_options)
        try:
            server.start()
            yield server.port
        finally:
            server.kill()


def listens(address, port):
    if ":" not in address:
        return is_listening(port)
    with socket.socket(socket.AF_INET6) as probe:
        return probe.connect_ex((address, port)) == 0


@contextmanager
def plain(port):
    yield port


@contextmanager
def changing(port, from_client, from_server):
    """Someone on the way who changes what passes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def relay(source, target, change):
        try:
            while data := source.recv(65536):
                target.sendall(change(data))
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # One of the two has left.

    def accept():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", port))
            threading.Thread(target=relay, args=[client, server, from_client], daemon=True).start()
            threading.Thread(target=relay, args=[server, client, from_server], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


def as_it_is(data):
    return data


def with_export_cipher(data):
    """A server's hello that has chosen TLS_RSA_EXPORT_WITH_RC4_40_MD5."""
    # A record of a handshake (22), whose first message is a server's hello (2).
    if data[:1] != b"\x16" or data[5:6] != b"\x02":
        return data
    # Behind the two heads, the version, the random bytes and the session's identifier.
    session = 5 + 4 + 2 + 32
    suite = session + 1 + data[session]
    return data[:suite] + b"\x00\x03" + data[suite + 2:]


def without_newest(data):
    """A client's hello whose extension supported_versions (43) has TLS 1.2 in the place of TLS 1.3, so that the two agree upon
    the older one (RFC 8446 §4.1.3 lets clients notice)."""
    def replace(match):
        return match[1] + match[2].replace(b"\x03\x04", b"\x03\x03")

    return re.sub(rb"(\x00\x2b\x00.)((?:.\x03[\x01-\x04])(?:\x03[\x01-\x04])*)", replace, data, flags=re.DOTALL)
