"""httpbin, run by gunicorn, and the checks that ScenariosWithPurl makes against it."""

import signal
import socket
import subprocess

from report import CheckFailed, expect, wait_until
from surroundings import environment, free_port

# Above what the checks take one by one: 5 s.
LIMIT = 60


class HTTPBin:
    """gunicorn in the foreground as a child process."""

    def __init__(self, folder, gunicorn):
        self.folder = folder
        self.gunicorn = gunicorn
        self.output_file = folder / "gunicorn.txt"
        self.port = free_port()
        self.process = None

    def start(self):
        if not self.gunicorn.is_file():
            raise CheckFailed(f"there is no {self.gunicorn}: bash .ci/run install")
        # Threads: an answer that takes its time holds up no other.
        arguments = ["-k", "gthread", "--threads", "8", "-w", "1", "-b", f"127.0.0.1:{self.port}", "httpbin:app"]
        with open(self.output_file, "ab") as output:
            self.process = subprocess.Popen(
                [self.gunicorn, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        wait_until(self.is_listening, "httpbin to listen", limit=30)

    def is_listening(self):
        if self.process.poll() is not None:
            raise CheckFailed(f"httpbin ended at once: {self.output_file.read_text()}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        """SIGTERM, so that gunicorn takes its workers along."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def check_httpbin(report, folder, gunicorn, scenarios):
    """Every line the program prints is a check of its own."""
    server = HTTPBin(folder, gunicorn)
    try:
        report.check("httpbin: it runs", server.start)
        if server.process is None:
            return
        report.check("httpbin: all of its checks were made", lambda: made_checks(report, server, scenarios))
    finally:
        server.stop()


def made_checks(report, server, scenarios):
    run = subprocess.run(
        [scenarios, "httpbin", f"http://127.0.0.1:{server.port}"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        env=environment(), timeout=LIMIT, text=True)
    lines = run.stdout.splitlines()
    for line in lines:
        report.relay(line)
    expect(run.returncode in (0, 1) and lines, f"{scenarios.name} ended with {run.returncode}")
    return f"{len(lines)} checks"
