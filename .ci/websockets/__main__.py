"""Tries WebSocket tasks against servers of others: the Python packages websockets and aiohttp, and Autobahn's test suite.

    python3 .ci/websockets --subject .build/debug/ConversationSubject --python FOLDER/bin/python3 [--wstest PATH]

`--python` is one that has both packages. `--wstest` is the program of autobahntestsuite, which runs on Python 2.7 and takes
half an hour; without it that part is left out, with a line about it. Everything happens on 127.0.0.1 and in a temporary directory.
Each check prints a line that begins with "ok" or "FAILED"; the exit status is 1 when any failed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# What the scripts share.
HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from surroundings import environment, free_port, start, stop  # noqa: E402

# A case whose behaviour is one of these is passed. INFORMATIONAL ones measure, or ask what the rules leave open.
GOOD = {"OK", "NON-STRICT", "INFORMATIONAL"}


def main():
    parser = argparse.ArgumentParser(prog="websockets")
    parser.add_argument("--subject", type=Path, required=True, help="the program of Tests/Checks")
    parser.add_argument("--python", type=Path, required=True, help="has the packages websockets and aiohttp")
    parser.add_argument("--wstest", type=Path, help="the program of autobahntestsuite")
    options = parser.parse_args()
    subject = options.subject.resolve()
    good = True
    for library in ("websockets", "aiohttp"):
        good &= check_library(library, options.python, subject)
    if options.wstest is None:
        print("# no --wstest: Autobahn's cases are left out", flush=True)
    else:
        good &= check_autobahn(options.wstest, subject)
    return 0 if good else 1


def check_library(library, python, subject):
    port = free_port()
    server = start([python, HERE / "echo_server.py", library, port], port)
    try:
        good = True
        for words in (["echo"], ["crowd"]):
            print(f"# {library}", flush=True)
            done = subprocess.run([subject, *words, f"ws://127.0.0.1:{port}/"], env=environment(), timeout=240)
            good &= done.returncode == 0
        return good
    finally:
        stop(server)


def check_autobahn(wstest, subject):
    with tempfile.TemporaryDirectory(prefix="purl-autobahn-") as name:
        folder = Path(name)
        port = free_port()
        plan = {"url": f"ws://127.0.0.1:{port}", "outdir": str(folder / "reports"), "cases": ["*"],
                "exclude-cases": [], "exclude-agent-cases": {}}
        (folder / "plan.json").write_text(json.dumps(plan))
        server = start([wstest, "-m", "fuzzingserver", "-s", folder / "plan.json"], port)
        try:
            subprocess.run([subject, "autobahn", f"ws://127.0.0.1:{port}"], env=environment(), timeout=3600, check=True)
        finally:
            stop(server)
        results = json.loads((folder / "reports" / "index.json").read_text())["Purl"]
    bad = {case: result["behavior"] for case, result in results.items()
           if result["behavior"] not in GOOD or result["behaviorClose"] not in GOOD}
    for case, behavior in sorted(bad.items()):
        print(f"FAILED - Autobahn {case}: {behavior}", flush=True)
    loose = sorted(case for case, result in results.items() if result["behavior"] == "NON-STRICT")
    print(f"{'FAILED' if bad else 'ok'} - Autobahn: {len(results) - len(bad)} of {len(results)} cases"
          f" ({len(loose)} not strict)", flush=True)
    return not bad


sys.exit(main())
