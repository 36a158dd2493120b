#!/usr/bin/env python3
"""What a reviewer would otherwise have to look for.

    python3 -B .ci/house_rules.py

- Each target imports only what its row of IMPORTS lists.
- A folder of Sources/Purl uses only those above it in FOLDERS, or of its own circle.
- A class's stored variables are private to its file, or at least can be set only there.
- `DispatchQueue.global()` appears in the worker alone.
- No function is by itself in a mutex: the compiler wraps it once more for each `withLock`, and its calls become slow and deep.
- PurlHTTP has no `unsafe`; tests do not sleep; no manifest of the library has a dependency.
- No file has a merge conflict's markers.

Every breach is a line `file:line: what`. Exemptions stand in the tables below, each with its reason; one that exempts
nothing any more is a breach itself.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

LIBC = {"Glibc", "Musl", "Darwin"}
IMPORTS = {
    "PurlHTTP": set(),
    "PurlIO": {"CLinux", "Synchronization", "Dispatch"} | LIBC,
    "PurlConnections": {"Dispatch", "PurlHTTP", "PurlIO", "Synchronization"},
    "Purl": {"Foundation", "PurlConnections", "PurlHTTP", "PurlIO", "Synchronization"},
    "PurlOpenSSL": LIBC,
    "PurlTLS": {"Foundation", "Purl", "PurlOpenSSL", "Synchronization"},
    "PurlTesting": {"Foundation", "PurlHTTP", "PurlIO", "PurlOpenSSL", "Synchronization"},
    "PurlDownloads": {"Foundation", "Purl", "PurlHTTP", "PurlIO", "Synchronization"},
    "PurlTrace": {"Foundation", "Purl", "PurlHTTP"},
    "PurlSimulation": {"Foundation", "Purl", "PurlIO", "PurlTesting", "PurlTrace", "Synchronization"},
    "PurlCommand": {
        "Foundation", "Dispatch", "Purl", "PurlDownloads", "PurlTLS", "PurlTesting", "PurlTrace", "PurlHTTP", "PurlIO",
        "Synchronization",
    },
    "PurlProgram": {"Foundation", "PurlCommand"},
}

# The folders of Sources/Purl, in their order: each may use those above it. Those of the circle may use each other, too:
# FoundationNetworking's declarations name each other, sessions their tasks, tasks their delegates, storages the tasks, and
# what carries a task out calls them.
FOLDERS = [
    "Machine",  # dates, identifiers and queues, which a simulation replaces
    "Files",  # names and places of files, and property lists that may come from anywhere
    "TLSProviders",  # what a TLS provider is
    "Bodies",  # the bodies of requests
    "Proxies",  # which proxy a URL takes
    "Messages",  # requests, responses, redirects, data: URLs, content codings
    "Failures",  # all that ends a transfer, and the URLError that it becomes
    "Credentials",  # credentials, protection spaces, challenges
    "Trace",  # the events of a transfer
    "TLS",  # secure connections, and the question whether their servers are trusted
    "Metrics",  # the times and sizes of a transfer
    "Sinks",  # what a place for a body's bytes can do
    "Resume",  # what it takes to resume: resume data, partial files, which requests may be
    "FileSinks",  # the sinks that are files, and their records
    "Background",  # the folder and the journal of a background session
    "Streams",  # a connection that belongs to a stream task
    "WebSockets",  # a connection that belongs to a WebSocket task
    "Transports",  # connections as programs see them
    ("Cookies", "Cache", "Protocols", "Tasks", "Session", "Reception", "Uploads", "Transfer", "Transaction"),
    "Bytes",  # bytes and lines as asynchronous sequences
]

# The one type for calls that may block.
WORKER = "Sources/PurlIO/"

# Stored variables that other files may set: "Type.name", and why.
SETTABLE = {}

# Tests that sleep: on the clock that is turned by hand or that of a simulation, which takes no time.
SLEEPING = {"ManualClockTests.swift", "SimulatedConcurrencyTests.swift"}


# ---------------------------------------------------------------------------------------------------------------------
# The rules. Each yields breaches: a file, a line and what is wrong.


def imports():
    pattern = re.compile(r"^[ \t]*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|private|fileprivate)\s+)?"
                         r"import\s+(?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)", re.MULTILINE)
    folders = {path.name for path in (ROOT / "Sources").iterdir()} - {"CLinux"}
    for name in sorted(folders - set(IMPORTS)):
        yield ROOT / "Sources" / name, 1, "IMPORTS has no row for this target"
    for target, allowed in IMPORTS.items():
        for source in sources(f"Sources/{target}"):
            for match in pattern.finditer(source.code):
                if match[1] not in allowed:
                    yield source.path, source.line(match.start(1)), f"{target} may not import {match[1]}"


def folders():
    table = ROOT / ".ci/house_rules.py"
    files = list(sources("Sources/Purl"))
    rows = {name: row for row, names in enumerate(FOLDERS) for name in ([names] if isinstance(names, str) else names)}
    for name in sorted({folder(file) for file in files} ^ set(rows)):
        yield table, 1, f"FOLDERS and the folders of Sources/Purl do not agree about {name}"
    homes = {match[1]: folder(file) for file in reversed(files) for match in DECLARATION.finditer(file.code)}
    uses = {}
    for file in files:
        user = folder(file)
        for match in TYPE_NAME.finditer(file.code):
            used = homes.get(match[0], user)
            if used == user or user not in rows or used not in rows:
                continue
            if rows[used] > rows[user]:
                what = f"{user} may not use {match[0]}, which is in {used}: that comes after {user} in FOLDERS"
                yield file.path, file.line(match.start()), what
            uses.setdefault(user, set()).add(used)
    for circle in FOLDERS:
        for name in circle if isinstance(circle, tuple) else []:
            if not reaches(name, name, {user: uses.get(user, set()) & set(circle) for user in circle}):
                yield table, 1, f"{name} need not be in the circle of FOLDERS"


def folder(file):
    return file.path.relative_to(ROOT / "Sources/Purl").parts[0]


def reaches(start, end, uses):
    found, open_ends = set(), [start]
    while open_ends:
        for name in uses[open_ends.pop()] - found:
            found.add(name)
            open_ends.append(name)
    return end in found


# A type that other files can name, declared on the outermost level; and the use of such a name.
DECLARATION = re.compile(
    r"^(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|internal|open|final|indirect|nonisolated) )*"
    r"(?:class|struct|enum|protocol|actor|typealias) (\w+)", re.MULTILINE)
TYPE_NAME = re.compile(r"(?<![.\w])[A-Z]\w+")


def stored_properties():
    unused = set(SETTABLE)
    for source in sources("Sources"):
        for variable in stored_variables(source):
            unused.discard(variable.name)
            if not variable.is_private and variable.name not in SETTABLE:
                yield source.path, variable.line, f"{variable.name} can be set from other files"
    for name in sorted(unused):
        yield Path(__file__), 1, f"SETTABLE has {name}, which is not needed"


def global_queue():
    for source in sources("Sources"):
        is_worker = str(source.path.relative_to(ROOT)).startswith(WORKER) and source.path.name == "Worker.swift"
        for match in re.finditer(r"DispatchQueue\s*\.\s*global\b", source.code):
            if not is_worker:
                yield source.path, source.line(match.start()), "DispatchQueue.global() outside Worker"


def functions_in_mutexes():
    for source in sources("Sources"):
        for match in re.finditer(r"\bMutex<\(*(?:@\w+ )*\([^<>]*->|\bMutex<\(*@Sendable\b", source.code):
            yield source.path, source.line(match.start()), "a function by itself in a mutex, outside a structure"


def unsafe():
    for source in sources("Sources/PurlHTTP"):
        for match in re.finditer(r"\bunsafe\b", source.code):
            yield source.path, source.line(match.start()), "unsafe in PurlHTTP"


def sleeps():
    for source in sources("Tests"):
        if source.path.name in SLEEPING:
            continue
        # One on a clock of its own waits in a simulation.
        for match in re.finditer(r"\bTask\.sleep(?!\(.*\bclock:)|\busleep\b|(?<![\w.])sleep\(", source.code):
            yield source.path, source.line(match.start()), "a test that sleeps"


def dependencies():
    manifest = ROOT / "Package.swift"
    source = Source(manifest)
    for match in re.finditer(r"\.package\(", source.code):
        yield manifest, source.line(match.start()), "a package dependency"


def conflict_markers():
    # Written in this way, the pattern does not find itself.
    found = subprocess.run(["git", "grep", "-nIE", r"^(<{7} |={7}$|>{7} |\|{7} )"], cwd=ROOT, capture_output=True, text=True)
    if found.returncode > 1:
        yield ROOT, 1, f"git grep failed: {found.stderr.strip()}"
    for line in found.stdout.splitlines():
        name, number, _ = line.split(":", 2)
        yield ROOT / name, int(number), "a merge conflict's marker"


RULES = [
    imports, folders, stored_properties, global_queue, functions_in_mutexes, unsafe, sleeps, dependencies, conflict_markers,
]


# ---------------------------------------------------------------------------------------------------------------------
# Reading Swift


class Source:
    """A file, and its code: the text with blanks in place of comments and the contents of strings."""

    def __init__(self, path):
        self.path = path
        self.code = blanked(path.read_text())

    def line(self, offset):
        return self.code.count("\n", 0, offset) + 1


def sources(folder):
    """Links are not followed: what they lead to is read where it is."""
    for file in sorted((ROOT / folder).rglob("*.swift")):
        parts = file.relative_to(ROOT).parents
        if not any((ROOT / parent).is_symlink() for parent in parts) and "/.build" not in str(file):
            yield Source(file)


TOKEN = re.compile(
    r'(?P<line>//[^\n]*)|(?P<block>/\*)|(?P<raw>(?P<hashes>#+)"(?:"")?)|(?P<many>""")|(?P<one>")')


def blanked(text):
    """Comments and what strings contain become blanks, line ends stay. Interpolations count as contents."""
    parts, position = [], 0
    while match := TOKEN.search(text, position):
        parts.append(text[position:match.start()])
        if match["line"]:
            end = match.end()
        elif match["block"]:
            end = end_of_comment(text, match.end())
        elif match["raw"]:
            quotes = match["raw"][len(match["hashes"]):]
            found = text.find(quotes + match["hashes"], match.end())
            end = len(text) if found < 0 else found + len(quotes) + len(match["hashes"])
        else:
            end = end_of_string(text, match.end(), match["many"] or match["one"])
        parts.append(re.sub(r"[^\n]", " ", text[match.start():end]))
        position = end
    return "".join(parts) + text[position:]


def end_of_comment(text, position):
    depth = 1
    while depth:
        match = re.compile(r"/\*|\*/").search(text, position)
        if not match:
            return len(text)
        depth += 1 if match[0] == "/*" else -1
        position = match.end()
    return position


def end_of_string(text, position, quotes):
    while position < len(text):
        if text.startswith("\\(", position):
            position = end_of_interpolation(text, position + 2)
        elif text[position] == "\\":
            position += 2
        elif text.startswith(quotes, position):
            return position + len(quotes)
        else:
            position += 1
    return position


def end_of_interpolation(text, position):
    depth = 1
    while depth and position < len(text):
        if text[position] == '"':
            quotes = '"""' if text.startswith('"""', position) else '"'
            position = end_of_string(text, position + len(quotes), quotes)
            continue
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
    return position


@dataclass
class Variable:
    # "Type.name"
    name: str
    line: int
    is_private: bool


MODIFIERS = (r"(?:(?:@\w+(?:\([^()]*\))?|(?:private|fileprivate|internal|package|public|open|unowned|nonisolated)(?:\(\w+\))?"
             r"|weak|lazy|static|final|override|dynamic)\s+)*")
OPENING = re.compile(
    r"(?P<type>\b(?:class|actor)\s+(?!var\b|func\b|let\b|subscript\b)(?P<name>\w+)[^{}]*)?\{"
    rf"|\}}|(?<![\w.])(?P<variable>(?P<modifiers>{MODIFIERS})var\s+(?P<pattern>\w+)(?P<rest>[^\n]*))")


def stored_variables(source):
    """The stored variables of classes and actors, other than the public ones, which are the API."""
    code, scopes, position = source.code, [], 0
    while match := OPENING.search(code, position):
        position = match.end()
        if match["variable"]:
            # A line may open a brace: it is counted next.
            position = match.start("rest")
            if scopes and scopes[-1] and is_stored(code, position):
                words = match["modifiers"].split()
                is_public = bool({"public", "open"} & set(words)) and "private(set)" not in words
                is_private = any(word.startswith(("private", "fileprivate")) for word in words)
                if not is_public and not ("override" in words):
                    line = source.line(match.start("pattern"))
                    yield Variable(f"{scopes[-1]}.{match['pattern']}", line, is_private)
        elif match[0] == "}":
            if scopes:
                scopes.pop()
        else:
            scopes.append(match["name"])


def is_stored(code, position):
    """Whether what follows a variable's name is no body that computes it: `= value`, nothing, or observers."""
    depth = 0
    while position < len(code):
        character = code[position]
        if character in "([<":
            depth += 1
        elif character in ")]>" and code[position - 1] != "-":
            depth -= 1
        elif depth == 0 and character == "=" or depth == 0 and character == "\n":
            return True
        elif depth == 0 and character == "{":
            return re.match(r"\{\s*(?:didSet|willSet)\b", code[position:]) is not None
        position += 1
    return True


def main():
    breaches = [breach for rule in RULES for breach in rule()]
    for path, line, what in sorted(set(breaches)):
        print(f"{path.relative_to(ROOT)}:{line}: {what}")
    print(f"{len(breaches)} breaches of {len(RULES)} rules" if breaches else "All kept.")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
