"""What a killed program has left of its downloads, and which requests may follow.

Within one boot every byte in a file counts: the next request starts exactly where the file ends. After a power loss only
those count that had been synchronised; here the others are overwritten, so that whoever trusts them ends with a broken file.
"""

import plistlib
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

IDENTIFIER = "/proc/sys/kernel/random/boot_id"


class Boot:
    """The boot that a program believes to be in."""

    def __init__(self, folder):
        self.file = folder / "boot"
        self.change()
        # Whether this user may put another file in the place of the system's.
        self.is_feigned = subprocess.run(
            self.command(["grep", "-q", self.identifier, IDENTIFIER]), capture_output=True, check=False).returncode == 0

    def change(self):
        self.identifier = str(uuid.uuid4())
        self.file.write_text(self.identifier + "\n")

    def command(self, words):
        """The words of a command whose process finds this boot's identifier."""
        script = f'mount --bind "$0" {IDENTIFIER} && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, str(self.file), *words]


@dataclass
class Downloads:
    """A manager's: each file has a record beside it, which says what it is of."""

    # The paths of the URLs, and where their next requests start.
    starts: dict = field(default_factory=dict)

    @classmethod
    def found(cls, home: Path):
        found = cls()
        for path, part, record in records(home):
            size = part.stat().st_size
            found.starts[path] = size if record.get("state") == "writing" else record["bytesReceived"]
        return found

    def refused(self, requests):
        """What is wrong with these requests: where those for each path start, None for the whole."""
        for path, starts in requests.items():
            expected = self.starts.get(path) or None
            for start in starts:
                if start != expected:
                    return f"{path} was asked for from {start}, where {expected} is right"
        return None


class SynchronisedDownloads(Downloads):
    """What a power loss leaves of a manager's. It may take the bytes that were not synchronised: they are overwritten."""

    @classmethod
    def found(cls, home: Path):
        found = cls()
        for path, part, record in records(home):
            safe = record["safe"]["count"] if "safe" in record else record["bytesReceived"]
            with open(part, "r+b") as file:
                size = file.seek(0, 2)
                file.seek(safe)
                file.write(b"\xff" * (size - safe))
            found.starts[path] = safe
        return found


def records(home):
    for record in sorted(home.glob("unfinished/*.resume")):
        part = record.with_suffix(".part")
        if part.exists():
            content = plistlib.loads(record.read_bytes())
            yield urlsplit(content["originalRequest"]["url"]).path, part, content


@dataclass
class Partials:
    """A background session's files, whose journal says what they are of: any of them may be meant."""

    sizes: list

    @classmethod
    def found(cls, home: Path):
        return cls([size for file in home.glob("sessions/*/Partials/*") if (size := file.stat().st_size)])

    def refused(self, requests):
        asked = {start for starts in requests.values() for start in starts if start is not None}
        whole = sum(None in starts for starts in requests.values())
        if strange := asked.difference(self.sizes):
            return f"asked for from {sorted(strange)}, where {sorted(self.sizes)} bytes are there"
        if whole + len(self.sizes) > len(requests):
            return f"{whole} files were asked for from the beginning, though {sorted(self.sizes)} bytes are there"
        return None
