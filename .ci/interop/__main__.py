"""Tries `purl get` against real web servers, nginx, lighttpd, Apache and Python's http.server, `purl put` against
SwiftNIO's NIOResumableUpload, and the library against httpbin.

    python3 .ci/interop --purl .build/release/purl [--rounds 20] [--size 200000000] [--seed 1]
        [--scenarios .build/debug/ScenariosWithPurl --gunicorn FOLDER/bin/gunicorn]
        [--upload-server PROGRAM]

Everything happens on 127.0.0.1 and in a temporary directory, which is gone afterwards. Each check prints a line that
begins with "ok" or "FAILED"; the exit status is 1 when any failed.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

# What the scripts share.
sys.path.append(str(Path(__file__).resolve().parent.parent))
from checks import Checks, make_random_file  # noqa: E402
from client import Purl  # noqa: E402
from httpbin_server import check_httpbin  # noqa: E402
from interruptions import InterruptedDownload  # noqa: E402
from report import Report  # noqa: E402
from servers import Apache, Lighttpd, Nginx  # noqa: E402
from uploads import check_uploads  # noqa: E402


def main():
    options = parse_arguments()
    print(f"# seed {options.seed}: the same interruptions again with --seed {options.seed}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="purl-interop-") as name:
        run_all(report, options, Path(name))
    seconds = time.monotonic() - began
    print(f"{report.passed} checks passed, {report.failed} failed, {seconds:.0f} s", flush=True)
    return 1 if report.failed else 0


def parse_arguments():
    parser = argparse.ArgumentParser(prog="interop", description="Tries `purl get` against real web servers.")
    parser.add_argument("--purl", type=Path, required=True, help="the program to try")
    parser.add_argument("--rounds", type=int, default=20, help="interruptions of the large file (20)")
    parser.add_argument("--size", type=int, default=200_000_000, help="bytes of the large file (200000000)")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="what the random choices follow")
    parser.add_argument("--scenarios", type=Path, help="the program that speaks to httpbin")
    parser.add_argument("--gunicorn", type=Path, help="what runs httpbin; both are installed in its environment")
    parser.add_argument("--upload-server", type=Path, help="the server that takes uploads in parts")
    options = parser.parse_args()
    if (options.scenarios is None) != (options.gunicorn is None):
        parser.error("--scenarios and --gunicorn belong together")
    if not options.purl.is_file():
        parser.error(f"there is no program {options.purl}")
    if options.rounds < 3 or options.size < options.rounds * 1_000_000:
        parser.error("at least 3 rounds, and a million bytes for each")
    return options


def run_all(report, options, folder):
    if options.scenarios is not None:
        check_httpbin(report, folder, options.gunicorn, options.scenarios.resolve())
    choices = random.Random(options.seed)
    documents = folder / "documents"
    (documents / "slow").mkdir(parents=True)
    (documents / "many").mkdir()
    # Apache reads as another user when root runs this.
    folder.chmod(0o755)
    downloads = folder / "downloads"
    downloads.mkdir()
    purl = Purl(options.purl.resolve(), downloads)
    if options.upload_server is not None:
        try:
            check_uploads(report, purl, options.upload_server.resolve(), folder, choices)
        finally:
            purl.kill_all()
    # Both rates make the large download take 10 to 15 seconds: lighttpd sends each second's share at once, and every
    # attempt begins with such a share.
    nginx = Nginx(folder, documents, rate=options.size // 12)
    lighttpd = Lighttpd(folder, documents, rate=options.size // 15)
    apache = Apache(folder, documents, rate=0)
    servers = (nginx, lighttpd, apache)
    try:
        for server in servers:
            server.start()
        large = make_random_file(documents / "slow" / "large.bin", options.size, 3600, choices)
        for server in (nginx, lighttpd):
            interrupted_download(report, InterruptedDownload(purl, server, large, downloads, choices), options.rounds)
        checks = Checks(purl, downloads, documents, choices)
        for server in servers:
            name = f"{server.name}: get -N of 1000 unchanged files fetches no byte of them"
            report.check(name, checks.unchanged_files_are_up_to_date, server)
        other_checks(report, checks, nginx, lighttpd)
    finally:
        purl.kill_all()
        for server in servers:
            server.kill()


def interrupted_download(report, download, rounds):
    name = download.server.name
    report.check(f"{name}: interrupted {rounds} times, the file is identical", download.download, rounds)
    report.check(f"{name}: each attempt resumes where the last one ended", download.each_answer_resumes)
    report.check(f"{name}: only what was under way is sent twice", download.little_is_sent_twice)
    download.target.remove()


def other_checks(report, checks, nginx, lighttpd):
    report.check("http.server: without ranges it starts over", checks.starts_over_without_ranges)
    for server in (nginx, lighttpd):
        name = server.name
        report.check(f"{name}: another file, other length: comes whole", checks.another_length_comes_whole, server)
        report.check(f"{name}: another file, same length: comes whole", checks.the_same_length_comes_whole, server)
        report.check(f"{name}: a 404 makes no file", checks.a_404_makes_no_file, server)
        report.check(f"{name}: an empty file arrives", checks.an_empty_file_arrives, server)
        report.check(f"{name}: without -o the URL names the file", checks.a_name_comes_from_the_url, server)
    report.check("nginx: a 404 leaves the partial file", checks.a_404_leaves_the_partial_file, nginx)
    report.check("nginx: a redirect is followed", checks.a_redirect_is_followed, nginx)
    report.check("a refused connection fails", checks.a_refused_connection_fails)
    report.check("wrong usage is reported", checks.wrong_usage_is_reported)
    report.check("https without OpenSSL fails with what to install", checks.https_needs_openssl)
    report.check("nginx: 1 GiB in little memory", checks.memory_stays_small, nginx)


sys.exit(main())
