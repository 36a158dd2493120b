"""The ways to download that have to survive."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Way:
    """One mode of CrashSubject. `share` is its part of the rounds."""

    name: str
    words: tuple[str, ...]
    share: float
    # Where unfinished files lie, below the home folder.
    leftovers: str

    def command(self, subject, home, files):
        return [str(subject), *self.words, str(home), *(file.url for file in files)]

    def left_behind(self, home: Path):
        return sorted(path.name for path in home.glob(self.leftovers))


WAYS = [
    Way("background session, resumes by itself", ("session", "continue"), 0.5, "sessions/*/Partials/*"),
    Way("background session, from resume data", ("session", "resume-data"), 0.5, "sessions/*/Partials/*"),
    Way("download manager", ("manager",), 1, "unfinished/*"),
]
