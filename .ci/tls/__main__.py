"""Tries https and wss, over PurlTLS, against nginx, openssl's s_server and servers that misbehave; and compares the verdict
about chains of certificates with curl's.

    python3 -B .ci/tls --programs .build/debug [--rounds 20] [--size 60000000] [--seed 1]
        [--websockets FOLDER/bin/python3]

`--websockets` is a Python that has the package websockets. Everything happens on 127.0.0.1 and in a temporary directory, with
certificates made there. Each check prints a line that begins with "ok" or "FAILED"; the exit status is 1 when any failed.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What the scripts share.
sys.path += [str(HERE.parent), str(HERE.parent / "interop")]
from authority import Authority  # noqa: E402
from checks import make_random_file  # noqa: E402
from client import Purl, digest  # noqa: E402
from interruptions import InterruptedDownload  # noqa: E402
from refusals import Refusals  # noqa: E402
from report import Report, expect, wait_until  # noqa: E402
from secure_servers import OpenSSLServer, SecureNginx, read_head, secured  # noqa: E402
from servers import Nginx  # noqa: E402
from surroundings import environment, free_port, start, stop  # noqa: E402
from verdicts import Verdicts  # noqa: E402


# The rate of the plain download, in MB/s. What it keeps of that beside a thousand handshakes is printed and not judged: it depends
# on who else uses the processors, the servers among them. That no handshake is computed on the network thread is a test's.
LINE = 125


class SecurePurl(Purl):
    """`purl` that trusts one root."""

    def __init__(self, program, folder, root):
        super().__init__(program, folder)
        self.root = root

    def start(self, command, *arguments, folder=None):
        return super().start(command, *arguments, "--cacert", self.root, folder=folder)


def main():
    parser = argparse.ArgumentParser(prog="tls")
    parser.add_argument("--programs", type=Path, required=True, help="the folder of purl and TLSSubject")
    parser.add_argument("--rounds", type=int, default=20, help="interruptions of the large file")
    parser.add_argument("--size", type=int, default=60_000_000, help="bytes of the large file")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="what the random choices follow")
    parser.add_argument("--websockets", type=Path, help="a Python that has the package websockets")
    options = parser.parse_args()
    print(f"# seed {options.seed}: the same interruptions again with --seed {options.seed}", flush=True)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="purl-tls-") as name:
        Run(report, options, Path(name)).run()
    print(f"{report.passed} checks passed, {report.failed} failed", flush=True)
    return 1 if report.failed else 0


class Run:
    def __init__(self, report, options, folder):
        folder.chmod(0o755)
        self.report = report
        self.options = options
        self.folder = folder
        self.choices = random.Random(options.seed)
        self.authority = Authority(folder / "authority")
        self.certificate = self.authority.issue("localhost")
        self.documents = folder / "documents"
        (self.documents / "slow").mkdir(parents=True)
        (self.documents / "uploads").mkdir()
        self.downloads = folder / "downloads"
        self.downloads.mkdir()
        (self.documents / "small.txt").write_text("hello over TLS\n")
        self.large = make_random_file(self.documents / "slow" / "large.bin", options.size, 3600, self.choices)
        self.middle = make_random_file(self.documents / "middle.bin", 3_000_000, 3600, self.choices)
        self.purl = SecurePurl((options.programs / "purl").resolve(), self.downloads, self.authority.root)
        self.subject_program = (options.programs / "TLSSubject").resolve()
        self.load_program = (options.programs / "HandshakeLoad").resolve()

    def run(self):
        echo = free_port() if self.options.websockets else None
        nginx_folder = self.folder / "servers"
        nginx_folder.mkdir()
        nginx = SecureNginx(nginx_folder, self.documents, self.options.size // 10, self.certificate, echo)
        nginx.start()
        library = None
        if echo:
            library = start([self.options.websockets, HERE.parent / "websockets" / "echo_server.py", "websockets", echo],
                            echo)
        try:
            self.loads(nginx)
            if echo:
                self.report.check("nginx: a WebSocket over TLS", self.web_socket, nginx)
        finally:
            self.purl.kill_all()
            nginx.kill()
            if library:
                stop(library)
        self.report.check("nginx: handshakes beside a plain download", self.handshakes)
        self.peers()
        self.refusals()
        verdicts = self.folder / "verdicts"
        verdicts.mkdir()
        Verdicts(self.subject_program, verdicts, environment()).run(self.report)

    def loads(self, nginx):
        check = self.report.check
        rounds = self.options.rounds
        download = InterruptedDownload(self.purl, nginx, self.large, self.downloads, self.choices)
        check(f"nginx: interrupted {rounds} times, the file is identical", download.download, rounds)
        check("nginx: each attempt resumes where the last one ended", download.each_answer_resumes)
        check("nginx: only what was under way is sent twice", download.little_is_sent_twice)
        check("nginx: a file is uploaded", self.upload, nginx)
        check("nginx: 64 at once", self.many, nginx)
        check("nginx: later connections resume the TLS session", self.resumption, nginx)
        check("nginx: a stream becomes secure", self.stream, nginx)
        check("nginx: a redirect from http to https is followed", self.redirect, nginx)
        check("nginx: a delegate trusts a server with an unknown root", self.trust, nginx)

    def handshakes(self):
        """What 1,000 connections cost each, and, all at once, a download over a line of 1 Gbit/s."""
        folder = self.folder / "handshakes"
        (folder / "documents" / "slow").mkdir(parents=True)
        (folder / "documents" / "small").write_text("hello")
        with open(folder / "documents" / "slow" / "long", "wb") as file:
            file.truncate(20 << 30)
        servers = []
        for name in ("secure", "plain"):
            (folder / name).mkdir()
        secure = SecureNginx(folder / "secure", folder / "documents", 1, self.certificate,
                             options="ssl_session_cache off; ssl_session_tickets off; keepalive_timeout 0;")
        plain = Nginx(folder / "plain", folder / "documents", LINE * 1_000_000)
        try:
            for server in (secure, plain):
                server.start()
                servers.append(server)
            done = subprocess.run([self.load_program, self.authority.root, "1000", secure.url("small"), plain.url("slow/long")],
                                  capture_output=True, text=True, env=environment(), timeout=120)
            expect(done.returncode == 0, f"exit status {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
            return "; ".join(done.stdout.strip().split("\n"))
        finally:
            for server in servers:
                server.kill()

    def subject(self, *words, trusted=True, variables=None):
        root = ["--cacert", self.authority.root] if trusted else []
        done = subprocess.run([str(word) for word in [self.subject_program, *root, *words]], capture_output=True, text=True,
                              env={**environment(), **(variables or {})}, timeout=60)
        expect(done.returncode == 0, f"exit status {done.returncode}: {done.stderr[-300:]}")
        return done.stdout.strip()

    def curl(self, url):
        """curl's exit status."""
        return subprocess.run(["curl", "--silent", "--max-time", "5", "--cacert", self.authority.root, "--output",
                               self.downloads / "curl", url], env=environment()).returncode

    def upload(self, nginx):
        began = time.monotonic()
        self.purl.run("put", "-q", self.large, nginx.url("uploads/large.bin")).expect_code(0, "put")
        expect(digest(self.documents / "uploads" / "large.bin") == digest(self.large), "the upload differs")
        return f"{self.options.size / 1e6:.0f} MB in {time.monotonic() - began:.1f} s"

    def many(self, nginx):
        before = len(nginx.handshakes())
        line = self.subject("--times", "64", nginx.url("middle.bin"))
        expect(line == f"ok 200 {64 * 3_000_000}", line)
        wait_until(lambda: len(nginx.handshakes()) >= before + 64, "64 responses in nginx's log")
        return line

    def resumption(self, nginx):
        before = len(nginx.handshakes())
        line = self.subject(*[nginx.url("small.txt")] * 10)
        expect(line == "\n".join(["ok 200 15"] * 10), line)
        # It logs what it has sent already.
        wait_until(lambda: len(nginx.handshakes()) >= before + 10, "ten handshakes in nginx's log")
        made = nginx.handshakes()[before:]
        resumed = sum(entry[1] == "r" for entry in made)
        expect(resumed == 9, f"{made}")
        return f"{resumed} of {len(made)}, {made[0][0]}"

    def stream(self, nginx):
        line = self.subject("--stream", nginx.url("small.txt"))
        expect(line.startswith("ok 200 "), line)
        return line

    def redirect(self, nginx):
        line = self.subject(nginx.plain_url("small.txt"))
        expect(line == "ok 200 15", line)

    def trust(self, nginx):
        refused = self.subject(nginx.url("small.txt"), trusted=False)
        expect(refused.startswith("error -1203 "), refused)
        line = self.subject("--trust", nginx.url("small.txt"), trusted=False)
        expect(line == "ok 200 15", line)

    def web_socket(self, nginx):
        url = nginx.url("echo", "wss")
        done = subprocess.run([self.purl.program, "ws", "--cacert", self.authority.root, url], input="one\ntwo\n",
                              capture_output=True, text=True, env=self.purl.environment, timeout=30)
        expect(done.stdout == "one\ntwo\n", f"{done.stdout!r} {done.stderr!r}")
        return "two messages came back"

    def peers(self):
        for options in (["-tls1_2"], ["-tls1_3"]):
            self.report.check(f"openssl s_server {options[0]}: a file arrives", self.from_openssl, options)
        self.report.check("openssl s_server with a client's certificate: a file arrives", self.with_identity)
        self.report.check("curl loads what purl loads", self.beside_curl)
        self.report.check("openssl.cnf: versions that it does not allow are not offered", self.system_settings)
        self.report.check("a body with a length needs no close_notify", self.length_without_end)

    def from_openssl(self, options):
        with OpenSSLServer(self.documents, self.certificate, *options) as server:
            target = self.downloads / f"openssl{options[0]}"
            self.purl.get(server.url("middle.bin"), target)
            expect(digest(target) == digest(self.middle), "the file differs")

    def with_identity(self):
        identity = self.authority.issue("client", names="email:client@example.test")
        options = ["-Verify", "1", "-verify_return_error", "-CAfile", self.authority.root]
        with OpenSSLServer(self.documents, self.certificate, *options) as server:
            line = self.subject("--cert", identity, server.url("middle.bin"))
            expect(line == "ok 200 3000000", line)

    def beside_curl(self):
        with OpenSSLServer(self.documents, self.certificate) as server:
            expect(self.curl(server.url("middle.bin")) == 0, "curl fails")
            target = self.downloads / "beside"
            self.purl.get(server.url("middle.bin"), target)
            expect(digest(target) == digest(self.downloads / "curl"), "the files differ")

    def system_settings(self):
        rows = (("MinProtocol = TLSv1.3", "-tls1_2"), ("MaxProtocol = TLSv1.2", "-tls1_3"))
        for setting, version in rows:
            file = self.folder / "openssl.cnf"
            file.write_text(f"openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\n{setting}\n")
            with OpenSSLServer(self.documents, self.certificate, version) as server:
                url = server.url("small.txt")
                line = self.subject(url)
                expect(line == "ok 200 15", line)
                line = self.subject(url, variables={"OPENSSL_CONF": str(file)})
                expect(line.startswith("error -1200 The server accepts no version"), line)

    def length_without_end(self):
        def serve(stream):
            read_head(stream)
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

        with secured(self.certificate, serve) as server:
            line = self.subject(server.url(""))
            expect(line == "ok 200 5", line)

    def refusals(self):
        folder = self.folder / "refusals"
        folder.mkdir()
        refusals = Refusals(self.subject, self.curl, self.authority, folder, self.documents)
        for title, make, *expected in refusals.table():
            self.report.check(f"refused: {title}", refusals.is_refused, make, *expected)


sys.exit(main())
