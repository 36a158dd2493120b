"""Takes the network away from connections, in network namespaces of its own: what only waits has to notice, too.

    python3 -B .ci/link_loss --subject .build/debug/ConversationSubject [--seconds 10]

A server and the program stand in two namespaces with a cable between them; each end of the cable is unplugged once. Wants
root and `ip`. Each check prints a line that begins with "ok" or "FAILED"; the exit status is 1 when any failed.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from surroundings import environment  # noqa: E402

CLIENT, SERVER, PORT = "10.213.7.1", "10.213.7.2", 8080


def main():
    parser = argparse.ArgumentParser(prog="link_loss")
    parser.add_argument("--subject", type=Path, required=True, help="the program of Tests/Checks")
    parser.add_argument("--seconds", type=float, default=10, help="the limit to configure")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.inside:
        return subprocess.run(["unshare", "--net", sys.executable, "-B", HERE, *sys.argv[1:], "--inside"],
                              check=False).returncode
    ip("link", "set", "lo", "up")
    results = [check(options, end) for end in ("client", "server")]
    return 0 if all(results) else 1


def check(options, unplugged):
    server = subprocess.Popen(["unshare", "--net", sys.executable, "-B", HERE / "server.py", SERVER, str(PORT)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    subject = None
    try:
        # Once the server's namespace is there, it gets its end of the cable.
        server.stdout.readline()
        ip("link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(server.pid))
        ip("address", "add", f"{CLIENT}/24", "dev", "near")
        ip("link", "set", "near", "up")
        there = ("nsenter", "--target", str(server.pid), "--net")
        ip("address", "add", f"{SERVER}/24", "dev", "far", before=there)
        ip("link", "set", "far", "up", before=there)
        server.stdin.write("up\n")
        server.stdin.flush()
        server.stdout.readline()
        subject = subprocess.Popen([options.subject, "vanish", f"ws://{SERVER}:{PORT}/", str(options.seconds)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment())
        if subject.stdout.readline().strip() != "connected":
            print(f"FAILED - no connection to the server ({unplugged})", flush=True)
            return False
        if unplugged == "client":
            ip("link", "set", "near", "down")
        else:
            ip("link", "set", "far", "down", before=there)
        print(f"# the {unplugged}'s end of the cable is unplugged", flush=True)
        printed, _ = subject.communicate("down\n", timeout=options.seconds * 4 + 20)
        print(printed, end="", flush=True)
        return subject.returncode == 0
    finally:
        for process in filter(None, (subject, server)):
            process.kill()
            process.wait()
        # The other end goes with it, or went with the server's namespace.
        ip("link", "delete", "near", check=False)


def ip(*words, before=(), check=True):
    subprocess.run([*before, "ip", *words], check=check, stderr=None if check else subprocess.DEVNULL)


if __name__ == "__main__":
    # Where `ip` is for root.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    sys.exit(main())
