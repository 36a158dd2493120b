"""One way to download, killed again and again, and what has to be true of it in the end."""

import shutil
import subprocess
import tempfile
import time

from remains import Boot
from server import digest_of_file
from surroundings import environment


class OrdealFailed(Exception):
    """Something is not as it has to be. The message names it."""


class FigureMissed(OrdealFailed):
    """All is as it has to be, but one of the figures is not, which a machine that was busy elsewhere may cause."""


class Ordeal:
    def __init__(self, subject, server, way, folder, most=1.1):
        """`most` is how many times the files' sizes the server may send in all."""
        self.subject = subject
        self.server = server
        self.way = way
        self.most = most
        self.home = folder / way.name.replace(",", "").replace(" ", "-")
        self.errors = tempfile.TemporaryFile(dir=folder)
        self.running = None
        self.boot = Boot(folder)
        # Which requests may come next.
        self.remains = way.remains.found(self.home)
        # How many requests for each file have been looked at.
        self.seen = {}
        self.kills = 0
        # Kills that cut off at least one answer.
        self.hits = 0
        self.bytes = 0
        self.files = []
        self.seconds = 0.0

    @property
    def ratio(self):
        return self.bytes / max(1, sum(file.size for file in self.files))

    def run(self, delays, rate):
        """Kills the subject after each of `delays` seconds, then lets it come to its end."""
        began = time.monotonic()
        try:
            # One file cannot be complete before the last kill; the others may.
            self.files = [self.server.add_file(int(rate * sum(delays) * share)) for share in (1, 0.8, 0.65)]
            before = self.server.totals().bytes
            for delay in delays:
                if not self.round(delay):
                    break
            paths = self.finish(self.files)
            self.bytes = self.server.totals().bytes - before
            self.check(paths)
            hope(self.kills >= 0.9 * len(delays), f"done after {self.kills} kills already")
        finally:
            self.stop()
            shutil.rmtree(self.home, ignore_errors=True)
            self.seconds = time.monotonic() - began

    def round(self, delay):
        """False when the subject came to its end before the kill."""
        cut_off = self.server.totals().cut_off
        self.start(self.files)
        try:
            code = self.running.wait(delay)
        except subprocess.TimeoutExpired:
            self.stop()
        else:
            expect(code == 0, f"ended with {code} before kill {self.kills + 1}: {self.last_words()}")
            return False
        self.kills += 1
        if self.settled().cut_off > cut_off:
            self.hits += 1
        self.compare_requests()
        self.remains = self.way.remains.found(self.home)
        if self.way.loses_power:
            self.boot.change()
        return True

    def compare_requests(self):
        """Each request has to start where the bytes end that counted before it."""
        requests = {}
        for file in self.files:
            starts = self.server.starts(file)
            requests[file.path] = starts[self.seen.get(file.path, 0):]
            self.seen[file.path] = len(starts)
        refusal = self.remains.refused(requests)
        expect(refusal is None, f"after {self.kills} kills: {refusal}")

    def settled(self):
        """The totals once the server knows that its client is gone."""
        deadline = time.monotonic() + 10
        while (totals := self.server.totals()).under_way:
            if time.monotonic() > deadline:
                raise OrdealFailed("the server did not notice that its client is gone")
            time.sleep(0.002)
        return totals

    def start(self, files):
        self.errors.truncate(0)
        self.running = subprocess.Popen(
            self.command(files), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.errors, env=environment(), text=True)

    def command(self, files):
        words = self.way.command(self.subject, self.home, files)
        return self.boot.command(words) if self.boot.is_feigned else words

    def finish(self, files):
        """A run without a kill. Returns where the files are."""
        self.start(files)
        output, _ = self.running.communicate(timeout=120)
        if self.running.returncode != 0:
            raise OrdealFailed(f"ended with {self.running.returncode}: {self.last_words()}")
        self.compare_requests()
        return output.splitlines()

    def stop(self):
        if self.running is not None:
            self.running.kill()
            self.running.communicate()

    def last_words(self):
        self.errors.seek(0)
        return repr(self.errors.read()[-1000:].decode(errors="replace").strip())

    def check(self, paths):
        expect(len(paths) == len(self.files), f"{len(paths)} files instead of {len(self.files)}")
        for path, file in zip(paths, self.files):
            expect(digest_of_file(path) == file.digest, f"{path} is not what the server has at {file.url}")
        left = self.way.left_behind(self.home)
        expect(not left, f"left behind: {', '.join(left)}")
        hope(self.hits > self.kills // 2, f"only {self.hits} of {self.kills} kills hit a running transfer")
        hope(self.ratio < self.most, f"the server sent {self.ratio:.3f} times the files' sizes")


def expect(condition, otherwise):
    if not condition:
        raise OrdealFailed(otherwise)


def hope(condition, otherwise):
    if not condition:
        raise FigureMissed(otherwise)
