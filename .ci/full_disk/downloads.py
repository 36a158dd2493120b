"""Downloads that can be tried again: by CrashSubject, and by purl."""

import plistlib
import select
import subprocess
from dataclasses import dataclass

from surroundings import environment

CANNOT_CREATE, CANNOT_OPEN, CANNOT_WRITE = -3000, -3001, -3003


@dataclass
class Attempt:
    """How an attempt ended. Without a file it failed."""

    file: str | None = None
    # URLError's code, and the system's below it; purl prints neither.
    code: int | None = None
    errno: int | None = None
    sentence: str = ""
    # How many bytes can be gone on with.
    recorded: int = 0


class SubjectDownload:
    """`CrashSubject full KIND`: one process that makes all attempts."""

    def __init__(self, subject, kind, folder, url):
        self.process = subprocess.Popen(
            [subject, "full", kind, folder, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())

    def first(self):
        return self._read()

    def again(self):
        self.process.stdin.write(b"again\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self):
        ready, _, _ = select.select([self.process.stdout], [], [], 30)
        if not ready:
            raise RuntimeError("no word of an attempt for 30 s")
        line = self.process.stdout.readline().decode().strip()
        match line.split(maxsplit=1):
            case ["done", file]:
                return Attempt(file=file)
            case ["failed", figures]:
                code, errno, recorded = map(int, figures.split())
                return Attempt(code=code, errno=errno, recorded=recorded)
        raise RuntimeError(f"ended unexpectedly: {line!r}")

    def close(self):
        self.process.kill()
        self.process.communicate()


class PurlDownload:
    """`purl get`: a process for each attempt."""

    def __init__(self, purl, folder, url, connections):
        self.file = folder / "file"
        self.record = folder / "file.resume"
        self.command = [purl, "get", "-q", "--connections", str(connections), url, "-o", self.file]

    def first(self):
        return self.again()

    def again(self):
        run = subprocess.run(
            self.command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(), timeout=60,
            check=False)
        if run.returncode == 0:
            return Attempt(file=self.file)
        recorded = 0
        if self.record.exists():
            with open(self.record, "rb") as file:
                recorded = plistlib.load(file)["bytesReceived"]
        return Attempt(sentence=run.stderr.strip(), recorded=recorded)

    def close(self):
        pass
