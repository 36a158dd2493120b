import Foundation
import Purl
import Testing

@testable import PurlCommand

@Suite("The command line")
struct CommandLineTests {
    struct Get: CustomTestStringConvertible {
        let words: String
        var urls = ["http://host/file"]
        var output: String?
        var sha256: String?
        var mirrors: [String] = []
        var checksumFile: String?
        var inputFile: String?
        var maximumAtOnce = 4
        var retries = 0
        var bytesPerSecond: Int?
        var headers: [HeaderOption] = []
        var resumes = true
        var verbosity = Verbosity.normal
        var proxy = ProxyChoice.environment

        var testDescription: String { words }
    }

    @Test("--proxy names the proxy for http and https, --no-proxy none for either")
    func proxies() {
        let configuration = URLSessionConfiguration.ephemeral
        ProxyChoice.named("p:3128").apply(to: configuration)
        let named = configuration.connectionProxyDictionary as? [String: AnyHashable]
        #expect(named == ["HTTPEnable": 1, "HTTPProxy": "p:3128", "HTTPSEnable": 1, "HTTPSProxy": "p:3128"])
        ProxyChoice.none.apply(to: configuration)
        #expect(configuration.connectionProxyDictionary?.isEmpty == true)
    }

    @Test("a word that is not UTF-8 is refused: its replacement would name another file")
    func wordsWithoutText() async throws {
        let folder = TemporaryFolder()
        try folder.write("mine", to: "x\u{FFFD}")
        let process = try PurlProcess(
            shell: "\"$0\" get http://127.0.0.1:1/film -o \"$(printf 'x\\377')\"; echo $?", [], in: folder)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(lines == ["purl: “x\u{FFFD}” is not UTF-8 text. See “purl help”.", "2"])
        #expect(folder.contents("x\u{FFFD}") == Data("mine".utf8))
        #expect(try await PurlProcess.run(["put", "x\u{FFFD}", "http://127.0.0.1:1/"], in: folder).exitCode == 1)
    }

    static let aDigest = String(repeating: "a1", count: 32)

    @Test(
        "sets the options of get",
        arguments: [
            Get(words: "http://host/file"),
            Get(words: "https://host/file?a=b#c", urls: ["https://host/file?a=b#c"]),
            Get(words: "http://host/file|-o|out.bin", output: "out.bin"),
            Get(words: "-o|out.bin|http://host/file", output: "out.bin"),
            Get(words: "--output|a b|http://host/file", output: "a b"),
            Get(words: "-o|-q|http://host/file", output: "-q"),
            Get(
                words: "-H|Accept: text/plain|http://host/file|--header|X-Empty:",
                headers: [.init(name: "Accept", value: "text/plain"), .init(name: "X-Empty", value: "")]),
            Get(words: "-H|X:a:b|http://host/file", headers: [.init(name: "X", value: "a:b")]),
            Get(words: "http://a/b|http://a/c", urls: ["http://a/b", "http://a/c"]),
            Get(words: "http://a/b|http://a/c|http://a/b", urls: ["http://a/b", "http://a/c"]),
            Get(words: "http://a/b|-o|x|http://a/b", urls: ["http://a/b"], output: "x"),
            Get(words: "http://host/file|-P|1", maximumAtOnce: 1),
            Get(words: "http://host/file|--parallel|12", maximumAtOnce: 12),
            Get(words: "http://host/file|--retry|5", retries: 5),
            Get(words: "http://host/file|--retry|0", retries: 0),
            Get(words: "http://host/file|--limit-rate|1", bytesPerSecond: 1),
            Get(words: "--limit-rate|200K|http://host/file", bytesPerSecond: 204_800),
            Get(words: "--limit-rate|2.5k|http://host/file", bytesPerSecond: 2_560),
            Get(words: "--limit-rate|1.5M|http://host/file", bytesPerSecond: 1_572_864),
            Get(words: "--limit-rate|2g|http://host/file", bytesPerSecond: 2_147_483_648),
            Get(words: "--input-file|-", urls: [], inputFile: "-"),
            Get(words: "--input-file|list|http://host/file", inputFile: "list"),
            Get(words: "http://host/file|--sha256|\(aDigest.uppercased())", sha256: aDigest),
            Get(
                words: "--check|SHA256SUMS|http://a/b|http://a/c", urls: ["http://a/b", "http://a/c"],
                checksumFile: "SHA256SUMS"),
            Get(words: "--check|-|http://host/file", checksumFile: "-"),
            Get(
                words: "--mirror|http://a/b|http://host/file|--mirror|http://a/c",
                mirrors: ["http://a/b", "http://a/c"]),
            Get(words: "--no-resume|http://host/file", resumes: false),
            Get(words: "-q|http://host/file", verbosity: .quiet),
            Get(words: "--quiet|-q|http://host/file", verbosity: .quiet),
            Get(words: "-v|http://host/file", verbosity: .verbose),
            Get(words: "--verbose|--|http://host/file", verbosity: .verbose),
            Get(words: "--proxy|p:3128|http://host/file", proxy: .named("p:3128")),
            Get(words: "http://host/file|--no-proxy", proxy: .none),
            Get(words: "http://host/file|--retry=5", retries: 5),
            Get(words: "http://host/file|-P2", maximumAtOnce: 2),
            Get(words: "--sha256=\(aDigest)|http://host/file", sha256: aDigest),
            Get(words: "-qP2|--|http://host/file", maximumAtOnce: 2, verbosity: .quiet),
            Get(words: "-Nqo|out.bin|http://host/file", output: "out.bin", verbosity: .quiet),
            Get(words: "-NP12|http://host/file", maximumAtOnce: 12),
            Get(words: "-oout.bin|http://host/file", output: "out.bin"),
            Get(words: "--output=a=b|http://host/file", output: "a=b"),
            Get(words: "--proxy=http://p:1|http://host/file", proxy: .named("http://p:1")),
            Get(words: "-HX:a|http://host/file", headers: [.init(name: "X", value: "a")]),
        ])
    func getOptions(expected: Get) throws {
        let options = try #require(try GetOptions.syntax.parse(expected.words.components(separatedBy: "|")))
        #expect(options.requests.map(\.url.absoluteString) == expected.urls)
        #expect(options.requests.first?.output == expected.output)
        #expect(options.requests.first?.checksum?.hexadecimal == expected.sha256)
        #expect(options.requests.first?.mirrors.map(\.absoluteString) ?? [] == expected.mirrors)
        #expect(options.checksumFile == expected.checksumFile)
        #expect(options.inputFile == expected.inputFile)
        #expect(options.maximumAtOnce == expected.maximumAtOnce)
        #expect(options.retries == expected.retries)
        #expect(options.limit?.bytesPerSecond == expected.bytesPerSecond)
        #expect(options.headers == expected.headers)
        #expect(options.resumes == expected.resumes)
        #expect(options.verbosity == expected.verbosity)
        #expect(options.proxy == expected.proxy)
    }

    @Test(
        "is refused with a sentence when it is invalid",
        arguments: [
            ("fetch", "There is no command “fetch”: did you mean “get”?"),
            ("help|upload", "There is no command “upload”: did you mean “put”?"),
            ("http://h/f", "There is no command “http://h/f”: did you mean “purl get http://h/f”?"),
            ("gte", "There is no command “gte”: did you mean “get”?"),
            ("help|srve", "There is no command “srve”: did you mean “serve”?"),
            ("--verison", "There is no command “--verison”: did you mean “--version”?"),
            ("-v|get|http://a/b", "Options follow the command, as in “purl get -v”."),
            ("--json|list", "Options follow the command, as in “purl list --json”."),
            ("-v", "There is no command “-v”: did you mean “--version”?"),
            ("rm|film", "There is no command “rm”: did you mean “clean”?"),
            (
                "www.example.org/a",
                "There is no command “www.example.org/a”: did you mean “purl get http://www.example.org/a”?"
            ),
            ("film", "There is no command “film”."),
            ("put|http://a/b|file", "“put” takes the file before the URL."),
            ("demo|now", "“demo” takes no arguments but options."),
            ("completion", "“completion” needs the name of a shell: bash, zsh or fish."),
            ("completion|csh", "“completion” needs the name of a shell: bash, zsh or fish."),
            ("get", "The URL is missing."),
            ("get|--", "The URL is missing."),
            ("get|http://h :1/a", "“http://h :1/a” is not a URL such as http://host/file."),
            ("get|host/file", "“host/file” is not a URL such as http://host/file."),
            ("get|localhost:80/file", "“localhost:80/file” is not a URL: did you mean “http://localhost:80/file”?"),
            ("get|www.example.org/a", "“www.example.org/a” is not a URL: did you mean “http://www.example.org/a”?"),
            ("get|http://h/a|film.bin", "“film.bin” is not a URL such as http://host/file."),
            ("get|ftp://h/a", "“ftp://h/a” begins with “ftp”. What purl loads: “http”, “https”."),
            ("get|ws://h/a", "“ws://h/a” begins with “ws”. What this command loads: “http”, “https”."),
            ("get|http://h:99999/a", "“http://h:99999/a” has the port 99999; ports are numbers from 1 to 65535."),
            ("put|film|http://h:0/a", "“http://h:0/a” has the port 0; ports are numbers from 1 to 65535."),
            ("get|htp://h/a", "“htp://h/a” is not a URL: did you mean “http://h/a”?"),
            ("put|file|example.org/a", "“example.org/a” is not a URL: did you mean “http://example.org/a”?"),
            ("put|http://a/b", "The file is missing: “put” takes it before the URL."),
            ("get|–o|x|http://a/b", "“–o” begins with another dash than “-”: did you mean “-o”?"),
            ("get|—output=x|http://a/b", "“—output=x” begins with another dash than “-”: did you mean “--output”?"),
            ("get|-s|http://a/b", "There is no option “-s”: did you mean “--quiet”?"),
            ("get|--no-check-certificate", "There is no option “--no-check-certificate”: did you mean “--insecure”?"),
            ("get|-c|http://a/b", "“get” resumes without “-c”."),
            ("get|--location|http://a/b", "“get” follows redirects without “--location”."),
            ("list|--resume", "There is no option “--resume”."),
            (
                "get|--user|me:secret|http://a/b",
                "There is no option “--user”; the URL names user and password, as in http://NAME:PASSWORD@HOST/."
            ),
            ("--verbose", "Options follow the command, as in “purl get --verbose”."),
            (
                "get|http://a/b|http://a/c|-o|x",
                "“-o” needs exactly one URL. For several, use the lines of an --input-file."
            ),
            (
                "get|--input-file|x|http://a/c|--sha256|\(aDigest)",
                "“--sha256” needs exactly one URL. For several, use the lines of an --input-file."
            ),
            ("get|http://a/b|--sha256|abc", "“--sha256” needs 64 hexadecimal digits, not “abc”."),
            ("get|http://a/b|--sha256|\(aDigest)|--sha256|\(aDigest)", "“--sha256” was given twice."),
            ("get|http://a/b|--check|x|--check|y", "“--check” was given twice."),
            (
                "get|http://a/b|--check|http://a/SHA256SUMS",
                "“--check” needs a file. Download the list first, from a server that you trust."
            ),
            ("get|http://a/b|--check|x|--sha256|\(aDigest)", "Give either “--check” or “--sha256”."),
            ("get|http://a/b|-N|--no-resume", "Give either “-N” or “--no-resume”."),
            ("get|--input-file|-|--check|-", "“--input-file” and “--check” cannot both read standard input."),
            ("get|http://a/b|--mirror|host/file", "“--mirror” needs a URL such as http://host/file, not “host/file”."),
            (
                "get|http://a/b|http://a/c|--mirror|http://a/d",
                "“--mirror” needs exactly one URL. For several, use the lines of an --input-file."
            ),
            ("get|http://a/b|-P|0", "“-P” needs a number from 1 to 1000, not “0”."),
            ("get|http://a/b|-P|many", "“-P” needs a number from 1 to 1000, not “many”."),
            ("get|http://a/b|-P=2", "“-P” needs a number from 1 to 1000, not “=2”."),
            ("get|http://a/b|-P|1|--parallel|2", "“-P, --parallel” was given twice."),
            ("get|http://a/b|--retry|-1", "“--retry” needs a number from 0 to 1000, not “-1”."),
            ("get|http://a/b|--retry", "“--retry” needs a value."),
            ("get|http://a/b|--limit-rate", "“--limit-rate” needs a value."),
            ("get|http://a/b|--limit-rate|1|--limit-rate|2", "“--limit-rate” was given twice."),
            ("get|--input-file|a|--input-file|b", "“--input-file” was given twice."),
            ("list|--all", "There is no option “--all”."),
            ("list|", "A folder's name cannot be empty."),
            ("clean|-x", "There is no option “-x”."),
            ("get|http://a/b|-x", "There is no option “-x”."),
            ("get|http://a/b|-qx", "There is no option “-x”."),
            ("get|http://a/b|-p|2", "There is no option “-p”: did you mean “-P”?"),
            ("get|http://a/b|-retry=3", "There is no option “-retry”: did you mean “--retry”?"),
            ("get|http://a/b|--sah256=x", "There is no option “--sah256”: did you mean “--sha256”?"),
            ("get|http://a/b|--quiet=yes", "“--quiet” takes no value."),
            ("get|-", "“-” is not a URL such as http://host/file."),
            ("get|--|-x", "“-x” is not a URL such as http://host/file."),
            ("get|http://a/b|-o", "“-o” needs a value."),
            ("get|http://a/b|-o|x|-o|y", "“-o, --output” was given twice."),
            ("get|http://a/b|-o|-", "“-o” needs the name of a file; a download into a pipe cannot be resumed."),
            ("get|http://a/b|-H|Accept", "“-H” needs a header field such as 'Name: value', not “Accept”."),
            ("get|http://a/b|-H|: x", "“-H” needs a header field such as 'Name: value', not “: x”."),
            ("get|http://a/b|-H|range: bytes=0-1", "“-H” cannot set “range”: purl does that itself."),
            ("get|http://a/b|-H|If-Range: x", "“-H” cannot set “If-Range”: purl does that itself."),
            ("get|http://a/b|--proxy", "“--proxy” needs a value."),
            ("get|http://a/b|--proxy|", "“--proxy” needs a host or a URL."),
            (
                "get|http://a/b|--proxy|p|--no-proxy",
                "Give either “--proxy” or “--no-proxy”."
            ),
            ("get|http://a/b|-q|-v", "Give either “-q” or “-v”."),
        ])
    func refusals(words: String, sentence: String) {
        let error = #expect(throws: UsageError.self) {
            try Command(arguments: words.components(separatedBy: "|"))
        }
        #expect(error?.sentence == sentence)
    }

    @Test(
        "refuses a rate of less than a byte a second, and a text that is not a rate",
        arguments: [
            "0", "0.4", "0K", "-1", "+5", "", "K", "1KB", "1 K", "1T", "1e6", "0x10", "inf", "nan", ".", "1.2.3", "½",
            "٣", "99999999999999999999", "9999999999G",
        ])
    func badRates(text: String) {
        let error = #expect(throws: UsageError.self) {
            try Command(arguments: ["get", "http://a/b", "--limit-rate", text])
        }
        #expect(
            error?.sentence
                == "“--limit-rate” needs bytes a second such as 500000, 200K or 1.5M, not “\(text)”.")
    }

    @Test(
        "finds the URL that a word may be meant as",
        arguments: [
            ("www.example.org", "http://www.example.org"), ("example.org/a?b#c", "http://example.org/a?b#c"),
            ("example.com", "http://example.com"), ("localhost", "http://localhost"),
            ("127.0.0.1/a", "http://127.0.0.1/a"), ("host:80", "http://host:80"),
            ("u:secret@example.org/a", "http://u:•••@example.org/a"), ("http:/host/a", "http://host/a"),
            ("http//host/a", "http://host/a"), ("HTTPS:host/a", "https://host/a"), ("htps://host/a", "https://host/a"),
            ("“http://host/a”", "http://host/a"), ("<http://host/a>", "http://host/a"),
            ("host", nil), ("film.bin", nil), ("host/film.bin", nil), ("../film.bin", nil), ("release-1.2/film", nil),
            ("ftp://host/a", nil), ("host:", nil), ("a..org/b", nil), ("--json", nil), ("", nil), ("-", nil),
        ])
    func meantURL(word: String, url: String?) {
        #expect(URLWord.nearest(word) == url)
    }

    @Test("sets the folders of list and clean")
    func folders() throws {
        let here = try #require(try FolderOptions.list.parse([]))
        #expect(here.folders == ["."])
        #expect(try Command(arguments: ["list"]) == .list(here))
        let options = try #require(try FolderOptions.clean.parse(["a", "--dry-run", "--all", "--", "-b"]))
        #expect(options.folders == ["a", "-b"])
        #expect(options.isDryRun)
        #expect(options.includesUnknown)
    }
}
