#!/usr/bin/env python3
"""Whether every test that the pages on conformance name exists.

The pages are tables of four columns: section, level, requirement, and what shows it: tests as `Suite/function`, or, after
a dash, why the requirement does not apply or has no test. A row that has neither fails, and so does a test that is not
there.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "Sources/Purl/Purl.docc").glob("Conformance*.md"))

SUITE = re.compile(r"\b(?:struct|class|actor|enum|extension)\s+(\w+)")
FUNCTION = re.compile(r"\bfunc\s+`?(\w+)")
NAMED = re.compile(r"`(\w+)/(\w+)`")


def tests():
    """All `Suite/function` whose function has the attribute @Test."""
    found = set()
    for file in (ROOT / "Tests").rglob("*.swift"):
        suite, is_test = None, False
        for line in file.read_text().splitlines():
            if not line.startswith((" ", "\t")) and (match := SUITE.search(line)):
                suite = match[1]
            is_test = is_test or "@Test" in line
            if is_test and (match := FUNCTION.search(line)):
                found.add(f"{suite}/{match[1]}")
                is_test = False
    return found


def rows(page):
    """The cells of each row, and its line's number."""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("|") and not line.startswith(("| ---", "| §")):
            yield number, [cell.strip() for cell in line.strip("|").split("|")]


def main():
    known = tests()
    wrong = []
    for page in PAGES:
        shown = exempt = 0
        for number, cells in rows(page):
            place = f"{page.relative_to(ROOT)}:{number}"
            if len(cells) != 4:
                wrong.append(f"{place}: {len(cells)} columns in place of 4")
                continue
            named = NAMED.findall(cells[3])
            missing = [f"{suite}/{name}" for suite, name in named if f"{suite}/{name}" not in known]
            wrong += [f"{place}: there is no test {name}" for name in missing]
            if cells[3].startswith("— "):
                exempt += 1
            elif named:
                shown += 1
            else:
                wrong.append(f"{place}: neither a test nor a reason")
        if shown + exempt:
            print(f"{page.name}: {shown} requirements with their tests, {exempt} with a reason instead")
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    return 1 if wrong or not PAGES else 0


if __name__ == "__main__":
    sys.exit(main())
