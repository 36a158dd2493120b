"""The checks that need no more than one or two runs of purl each."""

import os
import socket
import time

from client import Target, digest, interrupted_once
from report import expect, megabytes
from servers import PythonServer
from surroundings import free_port

MEMORY_LIMIT = 64 << 20
MIRRORED_FILES = 1000


class Checks:
    """What all checks share. Each makes its own files, and removes the large ones."""

    def __init__(self, purl, folder, documents, random):
        self.purl = purl
        self.folder = folder
        self.documents = documents
        self.random = random

    # A server without ranges.

    def starts_over_without_ranges(self):
        source = self.make_file("slow/norange.bin", 12_000_000)
        target = self.target("norange")
        # Seconds are left of it when it is interrupted.
        server = PythonServer(self.documents, rate=3_000_000)
        server.start()
        try:
            url = server.url("slow/norange.bin")
            for share in (0.1, 0.2):
                # The second moment lies beyond the first: it is reached only by this attempt's own bytes.
                interrupted_once(self.purl, url, target, int(12_000_000 * share))
            self.purl.get(url, target.file)
        finally:
            server.kill()
        target.expect_whole(source)
        expect(server.statuses == [200] * 3, f"answers {server.statuses} instead of three times 200")
        return "3 attempts, 3 answers 200"

    # A file that changed between two attempts.

    def another_length_comes_whole(self, server):
        return self.changed(server, "longer", server.rate * 5 // 2)

    def the_same_length_comes_whole(self, server):
        return self.changed(server, "same", server.rate * 2)

    def changed(self, server, name, new_size):
        path = f"slow/{name}.bin"
        source = self.make_file(path, server.rate * 2)
        target = self.target(f"{server.name}-{name}")
        before = len(server.requests())
        interrupted_once(self.purl, server.url(path), target, server.rate // 2)
        kept = target.recorded()
        expect(kept > 0, "nothing of the first version was recorded")
        self.make_file(path, new_size, age=1800)
        self.purl.get(server.url(path), target.file)
        target.expect_whole(source)
        last = server.wait_for_requests(before + 2)[-1]
        expect((last.status, last.range) == (200, f"bytes={kept}-"), f"the second request was {last}")
        return f"had {megabytes(kept)} of the old version, answer 200"

    # A copy of many files.

    def unchanged_files_are_up_to_date(self, server):
        """One of the files is replaced after that: it alone comes again."""
        folder = self.folder / f"{server.name}-many"
        folder.mkdir()
        names = [f"many/{number}.bin" for number in range(MIRRORED_FILES)]
        if not (self.documents / names[0]).exists():
            for name in names:
                self.make_file(name, 1000)
        urls = folder / "urls"
        urls.write_text("".join(server.url(name) + "\n" for name in names))
        logged = len(server.requests())
        passes = []
        for changed in ([], [], names[:1]):
            for name in changed:
                self.make_file(name, 1000, age=1800)
            began = time.monotonic()
            outcome = self.purl.run("get", "-q", "-N", "-P", "8", "--input-file", urls, folder=folder)
            passes.append(time.monotonic() - began)
            outcome.expect_code(0, f"get -N, pass {len(passes)}")
            requests = server.wait_for_requests(logged + MIRRORED_FILES)[logged:]
            logged += MIRRORED_FILES
            came = MIRRORED_FILES if len(passes) == 1 else len(changed)
            statuses = {status: sum(request.status == status for request in requests) for status in (200, 304)}
            expect(statuses == {200: came, 304: MIRRORED_FILES - came}, f"pass {len(passes)}: {statuses}")
            sent = sum(request.body_bytes_sent for request in requests)
            expect(sent == came * 1000, f"pass {len(passes)}: {sent} bytes of body instead of {came * 1000}")
        for name in names:
            expect((folder / name[5:]).read_bytes() == (self.documents / name).read_bytes(), f"{name} differs")
        return f"{MIRRORED_FILES} answers 304, 0 bytes of body, {passes[0]:.1f} s and then {passes[1]:.1f} s"

    # Exit codes and names.

    def a_404_leaves_the_partial_file(self, server):
        source = self.make_file("slow/gone.bin", server.rate * 2)
        target = self.target("gone")
        url = server.url("slow/gone.bin")
        logged = len(server.requests())
        interrupted_once(self.purl, url, target, server.rate // 2)
        before = digest(target.part), digest(target.record)
        hidden = source.rename(source.with_suffix(".hidden"))
        self.purl.run("get", "-q", url, "-o", target.file).expect_code(22, "for a 404")
        target.expect_unfinished("after a 404")
        expect((digest(target.part), digest(target.record)) == before, "FILE.part or FILE.resume changed")
        hidden.rename(source)
        self.purl.get(url, target.file)
        target.expect_whole(source)
        statuses = [request.status for request in server.wait_for_requests(logged + 3)[logged:]]
        expect(statuses == [200, 404, 206], f"answers {statuses}")
        return "exit code 22, FILE.part as before, gone on with when the file was back"

    def a_404_makes_no_file(self, server):
        target = self.target("nothing")
        self.purl.run("get", "-q", server.url("nothing.bin"), "-o", target.file).expect_code(22, "for a 404")
        made = [path.name for path in (target.file, target.part, target.record) if path.exists()]
        expect(not made, f"made {', '.join(made)}")
        return "exit code 22"

    def a_refused_connection_fails(self):
        outcome = self.purl.run("get", "-q", f"http://127.0.0.1:{free_port()}/", "-o", self.target("refused").file)
        outcome.expect_code(1, "refused")
        return f"exit code 1, {outcome.errors!r}"

    def wrong_usage_is_reported(self):
        for arguments in (["get"], ["get", "--no-such-option", "http://127.0.0.1/"], ["no-such-command"]):
            self.purl.run(*arguments).expect_code(2, f"purl {' '.join(arguments)}")
        return "exit code 2"

    def https_needs_openssl(self):
        self.purl.environment["PURL_OPENSSL"] = str(self.folder)
        try:
            with socket.create_server(("127.0.0.1", 0)) as listener:
                url = f"https://127.0.0.1:{listener.getsockname()[1]}/file"
                outcome = self.purl.run("get", "-q", url, "-o", self.target("https").file)
        finally:
            del self.purl.environment["PURL_OPENSSL"]
        outcome.expect_code(1, "https")
        expect("install" in outcome.errors, f"not what to install in {outcome.errors!r}")
        return f"exit code 1, {outcome.errors!r}"

    def an_empty_file_arrives(self, server):
        source = self.make_file("empty.bin", 0)
        target = self.target(f"{server.name}-empty")
        self.purl.get(server.url("empty.bin"), target.file)
        target.expect_whole(source)

    def a_name_comes_from_the_url(self, server):
        name = "spring rolls 春卷.bin"
        source = self.make_file(name, 100_000)
        folder = self.folder / f"{server.name}-names"
        folder.mkdir()
        self.purl.run("get", "-q", server.url(name), folder=folder).expect_code(0, "without -o")
        made = os.listdir(folder)
        expect(made == [name], f"made {made} instead of {[name]}")
        Target(folder / name).expect_whole(source)
        return repr(name)

    def a_redirect_is_followed(self, server):
        source = self.make_file("plain.bin", 1_000_000)
        target = self.target("moved")
        before = len(server.requests())
        self.purl.get(server.url("moved"), target.file)
        target.expect_whole(source)
        statuses = [request.status for request in server.wait_for_requests(before + 2)[before:]]
        expect(statuses == [301, 200], f"answers {statuses}")
        return "301, then 200"

    # Memory.

    def memory_stays_small(self, server):
        source = self.documents / "huge.bin"
        with open(source, "wb") as file:
            file.truncate(1 << 30)
        target = self.target("huge")
        began = time.monotonic()
        try:
            outcome = self.purl.run("get", "-q", server.url("huge.bin"), "-o", target.file)
            seconds = time.monotonic() - began
            outcome.expect_code(0, "1 GiB")
            target.expect_whole(source)
        finally:
            target.remove()
            source.unlink()
        figures = f"peak {outcome.peak_memory / (1 << 20):.1f} MiB (limit {MEMORY_LIMIT >> 20} MiB), {seconds:.1f} s"
        expect(outcome.peak_memory < MEMORY_LIMIT, figures)
        return figures

    # Files.

    def target(self, name):
        return Target(self.folder / f"{name}.bin")

    def make_file(self, path, size, age=3600):
        """A file of random bytes in `documents`, last changed `age` seconds ago."""
        return make_random_file(self.documents / path, size, age, self.random)


def make_random_file(file, size, age, random):
    """Written beside its place and then moved there, as careful publishers do."""
    fresh = file.with_name(file.name + ".new")
    with open(fresh, "wb") as stream:
        left = size
        while left > 0:
            left -= stream.write(random.randbytes(min(left, 1 << 20)))
    then = time.time() - age
    os.utime(fresh, (then, then))
    return fresh.replace(file)
