"""Servers that must not be trusted, or that break TLS: each is refused with its own code and sentence, and by curl as well."""

import socket
import struct
from contextlib import contextmanager

from authority import Authority
from report import expect
from secure_servers import Misbehaving, OpenSSLServer, SecureNginx, read_head, secured

# NSURLError…
TIMED_OUT, LOST, FAILED = -1001, -1005, -1200
BAD_DATE, UNTRUSTED, UNKNOWN_ROOT, NOT_YET_VALID = -1201, -1202, -1203, -1204
CLIENT_REJECTED, CLIENT_REQUIRED = -1205, -1206

# curl takes a Common Name where a certificate names no host and no address. RFC 9525 §2 forbids it.
CURL_LOADS = False


class Refusals:
    def __init__(self, subject, curl, authority, folder, documents):
        self.subject = subject
        self.curl = curl
        self.authority = authority
        self.stranger = Authority(folder / "stranger", "A root that is not known")
        self.folder = folder
        self.documents = documents

    def table(self):
        """Title, server, code, a part of the sentence; whether curl refuses it too, where it does not."""
        issue, stranger = self.authority.issue, self.stranger
        expired = issue("expired", start="20200101000000Z", end="20210101000000Z")
        future = issue("future", start="20480101000000Z")
        other = issue("other", names="DNS:other.test")
        wildcard = issue("wildcard", names="DNS:*.localhost,DNS:*")
        address = issue("address", names="IP:127.0.0.2")
        common = issue("common-name", names="", common_name="localhost")
        both = issue("common-name-and-address", names="IP:127.0.0.2", common_name="localhost")
        mail = issue("common-name-and-mail", names="email:me@localhost", common_name="localhost")
        client = issue("client-only", extra=["extendedKeyUsage=clientAuth"])
        good = issue("good")
        unknown = stranger.issue("unknown")
        return [
            ("another host's certificate", self.nginx("other", other), UNTRUSTED, "is not one for “localhost”"),
            ("a wildcard that does not cover the host", self.nginx("wildcard", wildcard), UNTRUSTED, "is not one for"),
            ("another address's certificate", self.nginx("address", address), UNTRUSTED, "is not one for"),
            ("the host as Common Name alone", self.nginx("common", common), UNTRUSTED, "is not one for", CURL_LOADS),
            ("the host as Common Name beside an address", self.nginx("both", both), UNTRUSTED, "is not one for"),
            ("the host as Common Name beside a mailbox", self.nginx("mail", mail), UNTRUSTED, "is not one for", CURL_LOADS),
            ("an expired certificate", self.nginx("expired", expired), BAD_DATE, "has expired"),
            ("a certificate that is not valid yet", self.nginx("future", future), NOT_YET_VALID, "is not valid yet"),
            ("an unknown root", self.nginx("unknown", unknown), UNKNOWN_ROOT, "leads to no root that is known"),
            ("the root itself, as the server's", self.nginx("root", self.itself(stranger)), UNKNOWN_ROOT, "no root"),
            ("a certificate for clients", self.nginx("client", client), UNTRUSTED, "is invalid"),
            ("TLS 1.0 only", self.nginx("old", good, "ssl_protocols TLSv1; ssl_ciphers ALL:@SECLEVEL=0;"), FAILED,
             "no version or cipher suite"),
            ("TLS 1.1 only", self.nginx("less-old", good, "ssl_protocols TLSv1.1; ssl_ciphers ALL:@SECLEVEL=0;"), FAILED,
             "no version or cipher suite"),
            ("ciphers without encryption", OpenSSLServer(self.folder, good, "-tls1_2", "-cipher", "NULL:@SECLEVEL=0"), FAILED,
             "no version or cipher suite"),
            ("a handshake that stalls", Misbehaving(stall), TIMED_OUT, "no progress"),
            ("a handshake that stalls in its middle", Misbehaving(stall_in_record), TIMED_OUT, "no progress"),
            ("plain HTTP", Misbehaving(speak_plainly), FAILED, "does not speak TLS"),
            ("noise", Misbehaving(make_noise), FAILED, "TLS"),
            ("the end of the connection in the handshake", Misbehaving(hang_up), LOST, "lost during the TLS handshake"),
            ("a reset in the handshake", Misbehaving(reset), LOST, "lost during the TLS handshake"),
            ("a fatal alert", Misbehaving(alert), FAILED, "no version or cipher suite"),
            ("a certificate required of the client", OpenSSLServer(self.folder, good, "-Verify", "1", "-verify_return_error"),
             (CLIENT_REQUIRED, CLIENT_REJECTED), "certificate"),
            ("a body until the end, without close_notify", secured(good, cut_short), LOST, ""),
            ("a body until the end, cut by a reset", secured(good, cut_by_reset), LOST, ""),
        ]

    @contextmanager
    def nginx(self, name, certificate, options=""):
        folder = self.folder / name
        folder.mkdir()
        server = SecureNginx(folder, self.documents, 0, certificate, options=options)
        server.start()
        try:
            yield server
        finally:
            server.kill()

    def itself(self, authority):
        whole = authority.folder / "itself.pem"
        whole.write_text((authority.folder / "root.key").read_text() + authority.root.read_text())
        return whole

    def is_refused(self, make, code, part, curl_refuses=True):
        with make as server:
            url = server.url("small.txt")
            line = self.subject("--timeout", "1" if code == TIMED_OUT else "20", url)
            word, found, sentence = (line.split(" ", 2) + ["", ""])[:3]
            codes = code if isinstance(code, tuple) else (code,)
            expect(word == "error" and int(found) in codes and part in sentence, line)
            # curl waits, and takes a body without an end for a whole one.
            if curl_refuses and code not in (TIMED_OUT, LOST):
                expect(self.curl(url) != 0, f"curl loads it; {line}")
        return f"{found} {sentence}"


def stall(connection):
    connection.recv(4096)
    connection.recv(4096)


def stall_in_record(connection):
    connection.recv(4096)
    connection.sendall(b"\x16\x03\x03\x10\x00\x02\x00")
    connection.recv(4096)


def speak_plainly(connection):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def make_noise(connection):
    connection.recv(4096)
    connection.sendall(bytes(range(256)) * 16)


def hang_up(connection):
    connection.recv(4096)
    connection.shutdown(socket.SHUT_WR)


def reset(connection):
    connection.recv(4096)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def alert(connection):
    connection.recv(4096)
    # RFC 8446 §6: a fatal handshake_failure.
    connection.sendall(b"\x15\x03\x03\x00\x02\x02\x28")


def cut_short(stream):
    read_head(stream)
    stream.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nthe beginning of a body")
    # Without `unwrap` no close_notify is sent.
    socket.socket.shutdown(stream, socket.SHUT_WR)


def cut_by_reset(stream):
    read_head(stream)
    stream.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nthe beginning of a body")
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
