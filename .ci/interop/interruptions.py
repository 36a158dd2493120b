"""A large download, interrupted again and again: by Ctrl-C, by SIGTERM, by the death of the server."""

import enum
import signal
import time
from collections import Counter
from dataclasses import dataclass

from client import Target
from report import expect, megabytes


class Interruption(enum.Enum):
    CTRL_C = "SIGINT"
    TERMINATION = "SIGTERM"
    SERVER_DEATH = "server killed"


@dataclass
class Attempt:
    """One run of purl on the way to the whole file."""

    # What ended it; None when it ran to the end.
    interruption: Interruption | None
    # How many bytes FILE.resume vouched for before.
    began_at: int
    # How many bytes FILE.part had when it ended.
    part_size: int
    # How many bytes the file has.
    size: int

    def has_log_line(self):
        """A server that is killed does not come to write one, and who has all bytes on record asks for none."""
        return self.interruption is not Interruption.SERVER_DEATH and self.began_at < self.size


def plan(rounds, random):
    """Which interruption in which round: mostly Ctrl-C, about every seventh SIGTERM, as often a server's death."""
    others = max(1, rounds // 7)
    kinds = [Interruption.TERMINATION] * others + [Interruption.SERVER_DEATH] * others
    kinds += [Interruption.CTRL_C] * (rounds - len(kinds))
    random.shuffle(kinds)
    return kinds[:rounds]


class InterruptedDownload:
    """The story of one file's download from one server, and what has to be true of it."""

    def __init__(self, purl, server, source, folder, random):
        self.purl = purl
        self.server = server
        self.source = source
        self.path = f"slow/{source.name}"
        self.size = source.stat().st_size
        self.target = Target(folder / f"{server.name}-{source.name}")
        self.random = random
        self.attempts = []
        self.log = []

    def download(self, rounds):
        """Interrupts `rounds` times, then lets it run to the end."""
        began = time.monotonic()
        for left, interruption in zip(range(rounds, 0, -1), plan(rounds, self.random)):
            if self.target.file.exists():
                break
            self.attempt(interruption, left)
        if not self.target.file.exists():
            self.attempt(None, 0)
        self.target.expect_whole(self.source)
        # A busy machine may overshoot the moments so far that the file is complete before its time.
        expect(len(self.attempts) > rounds // 2, f"complete after only {len(self.attempts)} attempts")
        kinds = Counter(attempt.interruption for attempt in self.attempts)
        counts = ", ".join(f"{kind.value} {kinds[kind]}" for kind in Interruption)
        return f"{megabytes(self.size)} in {len(self.attempts)} attempts ({counts}), {time.monotonic() - began:.1f} s"

    def attempt(self, interruption, left):
        """One run of purl; `left` interruptions, this one included, are still to come."""
        began_at = self.target.recorded()
        moment = self.moment(max(began_at, self.target.size()), left)
        run = self.purl.start("get", "-q", self.server.url(self.path), "-o", self.target.file)
        if interruption and not run.interrupt_when(
                lambda: self.target.size() >= moment, lambda: self.interrupt(run, interruption)):
            interruption = None
        outcome = run.wait(120 if interruption is None else 20)
        # The last byte may have come before the interruption, which then ends nothing.
        is_whole = self.target.file.exists()
        if is_whole and interruption is not Interruption.SERVER_DEATH:
            interruption = None
        size = self.target.size() or self.size
        self.attempts.append(Attempt(interruption, began_at, size, self.size))
        self.expect_right_ending(None if is_whole else interruption, outcome)
        self.tidy_server(interruption)

    def moment(self, reached, left):
        """The size of FILE.part at which to interrupt: at random around this round's fair share of the rest."""
        # What the server sends within two seconds remains for the attempt after the last interruption.
        end = self.size - 2 * self.server.rate
        share = max(1, end - reached) // max(1, left)
        return min(max(end, reached + 1), reached + self.random.randint(1, 2 * share + 1))

    def interrupt(self, run, interruption):
        match interruption:
            case Interruption.CTRL_C: run.signal(signal.SIGINT)
            case Interruption.TERMINATION: run.signal(signal.SIGTERM)
            case Interruption.SERVER_DEATH: self.server.kill()

    def expect_right_ending(self, interruption, outcome):
        when = f"attempt {len(self.attempts)}, {interruption.value if interruption else 'not interrupted'}"
        match interruption:
            case None: outcome.expect_code(0, when)
            case Interruption.CTRL_C: outcome.expect_code(130, when)
            case Interruption.SERVER_DEATH: outcome.expect_code(1, when)
            case Interruption.TERMINATION: expect(outcome.code != 0, f"{when}: exit code 0")
        if interruption:
            self.target.expect_unfinished(when)
        if interruption is Interruption.CTRL_C:
            expect(self.target.recorded() > 0, f"{when}: FILE.resume vouches for nothing")

    def tidy_server(self, interruption):
        """Sees to it that the log is complete and the server is there for the next attempt."""
        if interruption is Interruption.SERVER_DEATH:
            self.server.start()
        else:
            logged = sum(attempt.has_log_line() for attempt in self.attempts)
            self.log = self.server.wait_for_requests(logged)

    def each_answer_resumes(self):
        """Every attempt asked for the bytes after those on record, and for nothing else."""
        attempts = [attempt for attempt in self.attempts if attempt.has_log_line()]
        expect(len(self.log) == len(attempts), f"{len(self.log)} requests for {len(attempts)} attempts")
        for number, (attempt, request) in enumerate(zip(attempts, self.log), 1):
            start = attempt.began_at
            wanted = (200, "-", "-")
            if start > 0:
                wanted = (206, f"bytes={start}-", f"bytes {start}-{self.size - 1}/{self.size}")
            seen = (request.status, request.range, request.content_range)
            expect(seen == wanted, f"logged request {number} was {seen} instead of {wanted}")
        continued = sum(request.status == 206 for request in self.log)
        expect(continued > 0, "no answer was 206")
        return f"{continued} answers 206, each from the byte after the last one on record"

    def little_is_sent_twice(self):
        """The server sent the file once, give or take what was under way when an attempt ended."""
        logged = sum(request.body_bytes_sent for request in self.log)
        unlogged = sum(
            attempt.part_size - attempt.began_at for attempt in self.attempts if not attempt.has_log_line())
        allowed = int(self.size * 1.05) + self.server.in_flight * (len(self.attempts) - 1)
        figures = f"{megabytes(logged + unlogged)} sent for {megabytes(self.size)} (limit {megabytes(allowed)})"
        expect(logged + unlogged <= allowed, figures)
        return figures
