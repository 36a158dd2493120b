"""The ways to download that have to survive."""

from dataclasses import dataclass
from pathlib import Path

from remains import Downloads, Partials, SynchronisedDownloads


@dataclass(frozen=True)
class Way:
    """One mode of CrashSubject. `share` is its part of the rounds."""

    name: str
    words: tuple[str, ...]
    share: float
    # Where unfinished files lie, below the home folder.
    leftovers: str
    # What tells which requests may follow a kill.
    remains: type
    # How many times the usual pause lies between two kills.
    patience: float = 1
    # Each kill is a power loss: the next process finds another boot, and bytes that were not synchronised gone.
    loses_power: bool = False

    def command(self, subject, home, files):
        return [str(subject), *self.words, str(home), *(file.url for file in files)]

    def left_behind(self, home: Path):
        return sorted(path.name for path in home.glob(self.leftovers))


WAYS = [
    Way("background session, resumes by itself", ("session", "continue"), 0.5, "sessions/*/Partials/*", Partials),
    Way("background session, from resume data", ("session", "resume-data"), 0.5, "sessions/*/Partials/*", Partials),
    Way("download manager", ("manager",), 1, "unfinished/*", Downloads),
    Way("download manager, power lost", ("manager",), 0.1, "unfinished/*", SynchronisedDownloads, 5, loses_power=True),
]
