"""One line per check, and a count of them at the end."""

import time


class CheckFailed(Exception):
    """A check did not find what it expected. The message has what it found."""


class Report:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, title, function, *arguments):
        """Runs `function`, which returns its figures as text or raises. A failure does not stop the checks after it."""
        try:
            figures = function(*arguments)
        except CheckFailed as failure:
            self._failed(title, str(failure))
        except Exception as error:
            self._failed(title, f"{type(error).__name__}: {error}")
        else:
            self.passed += 1
            print(f"ok - {title}" + (f": {figures}" if figures else ""), flush=True)

    def relay(self, line):
        """Takes in a line that another program wrote about a check of its own."""
        if line.startswith("ok - "):
            self.passed += 1
        else:
            self.failed += 1
        print(line, flush=True)

    def _failed(self, title, reason):
        self.failed += 1
        print(f"FAILED - {title}: {reason}", flush=True)


def expect(condition, otherwise):
    """Raises CheckFailed with the message `otherwise` unless `condition` holds."""
    if not condition:
        raise CheckFailed(otherwise)


def wait_until(condition, what, limit=10.0, pause=0.002):
    """Asks again and again until `condition()` is true, and gives up after `limit` seconds."""
    deadline = time.monotonic() + limit
    while not condition():
        expect(time.monotonic() < deadline, f"waited {limit:g} s in vain for {what}")
        time.sleep(pause)


def megabytes(count):
    return f"{count / 1e6:.1f} MB"
