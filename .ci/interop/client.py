"""Runs purl and looks at the files it leaves."""

import hashlib
import os
import plistlib
import signal
import subprocess
import threading
from dataclasses import dataclass

from report import expect, wait_until
from surroundings import environment


@dataclass
class Outcome:
    """How a run of purl ended. A signal's number counts negative, as in `subprocess`."""

    code: int
    errors: str
    peak_memory: int

    def expect_code(self, code, when):
        expect(self.code == code, f"{when}: exit code {self.code} instead of {code}; it printed {self.errors!r}")


class Purl:
    """The program under test. All runs have a home of their own, so that nothing is left behind."""

    def __init__(self, program, folder):
        self.program = program
        self.folder = folder
        self.runs = []
        self.environment = environment(HOME=str(folder), XDG_CACHE_HOME=str(folder / "cache"))

    def start(self, *arguments, folder=None):
        run = Run([self.program, *map(str, arguments)], self.environment, folder or self.folder)
        self.runs.append(run)
        return run

    def run(self, *arguments, folder=None, limit=120.0):
        return self.start(*arguments, folder=folder).wait(limit)

    def get(self, url, file):
        """A quiet download that is expected to succeed."""
        outcome = self.run("get", "-q", url, "-o", file)
        outcome.expect_code(0, f"get {url}")

    def kill_all(self):
        for run in self.runs:
            run.kill()


class Run:
    """One run of purl, under way."""

    def __init__(self, command, environment, folder):
        self.process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE)

    def is_over(self):
        # WNOWAIT leaves the dead child in place: `wait` wants to read its peak memory.
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def interrupt_when(self, condition, interruption):
        """Calls `interruption` once `condition()` is true. Returns False when the run was over before that."""
        wait_until(lambda: self.is_over() or condition(), "the download to get on", limit=60)
        if self.is_over():
            return False
        interruption()
        return True

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, limit=20.0):
        """Waits for the end. A run that takes longer than `limit` seconds is killed, and ends with -9."""
        timer = threading.Timer(limit, self.process.kill)
        timer.start()
        errors = self.process.stderr.read().decode(errors="replace").strip()
        _, status, usage = os.wait4(self.process.pid, 0)
        timer.cancel()
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return Outcome(self.process.returncode, errors[-500:], usage.ru_maxrss * 1024)

    def kill(self):
        if self.process.returncode is None:
            self.process.kill()
            self.process.wait()


class Target:
    """FILE with FILE.part and FILE.resume beside it, and for a while FILE.resume.new."""

    def __init__(self, file):
        self.file = file
        self.part = file.with_name(file.name + ".part")
        self.record = file.with_name(file.name + ".resume")
        # The latest record, until it is safe and takes the other's place.
        self.newer_record = file.with_name(file.name + ".resume.new")

    def size(self):
        """How many bytes lie in FILE.part."""
        try:
            return self.part.stat().st_size
        except FileNotFoundError:
            return 0

    def recorded(self):
        """How many bytes of FILE.part a record vouches for, until the machine starts anew."""
        for path in (self.newer_record, self.record):
            if path.exists():
                with open(path, "rb") as file:
                    record = plistlib.load(file)
                # A download that ends while it moves the whole file to its place leaves the record of one under way, in
                # which all that was written counts.
                is_whole = record.get("state") == "writing" and self.size() == record.get("totalBytes")
                return record["totalBytes"] if is_whole else record["bytesReceived"]
        return 0

    def expect_unfinished(self, when):
        expect(self.part.exists(), f"{when}: {self.part.name} is gone")
        expect(not self.file.exists(), f"{when}: {self.file.name} is there though the download is not complete")

    def expect_whole(self, source):
        """FILE is identical to `source`, and nothing else is left."""
        expect(self.file.exists(), f"{self.file.name} is missing")
        expect(digest(self.file) == digest(source), f"{self.file.name} differs from {source.name}")
        left = [path.name for path in (self.part, self.record, self.newer_record) if path.exists()]
        expect(not left, f"left behind: {', '.join(left)}")

    def remove(self):
        for path in (self.file, self.part, self.record, self.newer_record):
            path.unlink(missing_ok=True)


def digest(file):
    sha256 = hashlib.sha256()
    with open(file, "rb") as stream:
        while chunk := stream.read(1 << 20):
            sha256.update(chunk)
    return sha256.hexdigest()


def interrupted_once(purl, url, target, size):
    """Leaves a download of `url` unfinished: Ctrl-C once FILE.part has `size` bytes."""
    run = purl.start("get", "-q", url, "-o", target.file)
    in_time = run.interrupt_when(lambda: target.size() >= size, lambda: run.signal(signal.SIGINT))
    outcome = run.wait()
    expect(in_time, f"the download was over before it could be interrupted; it printed {outcome.errors!r}")
    outcome.expect_code(130, "after SIGINT")
    target.expect_unfinished("after SIGINT")
