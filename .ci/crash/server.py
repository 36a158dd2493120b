"""The server that downloads come from, and the files it has."""

import hashlib
import subprocess
import urllib.request
from dataclasses import dataclass

from surroundings import environment


@dataclass
class File:
    url: str
    size: int
    # SHA-256 of the content, hexadecimal.
    digest: str

    @property
    def path(self):
        return "/" + self.url.split("/", 3)[3]


@dataclass
class Totals:
    """What was sent of all files so far."""

    bytes: int
    # Answers that were cut off because the client went away.
    cut_off: int
    under_way: int


class Server:
    """`CrashSubject serve` as a child process, which sends each file at `rate` bytes per second and connection."""

    def __init__(self, subject, rate):
        self.process = subprocess.Popen(
            [subject, "serve", str(rate)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def add_file(self, size):
        url, uncounted = self._ask(f"file {size}").split()
        return File(url, size, digest_of_url(uncounted))

    def totals(self):
        return Totals(*map(int, self._ask("totals").split()))

    def ranges(self, file):
        """For each request for the file so far: its Range field, or "-", and how many bytes the answer had."""
        fields = [word.rpartition("=") for word in self._ask(f"ranges {file.path}").split()]
        return [(field, int(count)) for field, _, count in fields]

    def starts(self, file):
        """For each request for the file so far: the offset that it starts at, or None for the whole."""
        return [None if field == "-" else int(field.removeprefix("bytes=").rstrip("-")) for field, _ in self.ranges(file)]

    def _ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("the server has ended")
        return answer.strip()


def digest_of_url(url):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=60) as answer:
        return digest(answer)


def digest_of_file(path):
    with open(path, "rb") as stream:
        return digest(stream)


def digest(stream):
    sha256 = hashlib.sha256()
    while chunk := stream.read(1 << 20):
        sha256.update(chunk)
    return sha256.hexdigest()
