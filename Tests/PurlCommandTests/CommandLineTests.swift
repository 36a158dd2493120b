import Foundation
import Testing

@testable import PurlCommand

@Suite("The command line")
struct CommandLineTests {
    @Test(
        "asks for help, the version or the demo",
        arguments: [
            ([], .help(.all)),
            (["help"], .help(.all)),
            (["--help"], .help(.all)),
            (["-h"], .help(.all)),
            (["help", "get"], .help(.get)),
            (["help", "demo"], .help(.demo)),
            (["get", "--help"], .help(.get)),
            (["get", "http://a/b", "-h"], .help(.get)),
            (["demo", "--help"], .help(.demo)),
            (["--version"], .version),
            (["demo"], .demo),
        ] as [([String], Command)])
    func simpleCommands(words: [String], command: Command) throws {
        #expect(try Command(arguments: words) == command)
    }

    struct Get: CustomTestStringConvertible {
        let words: String
        var url = "http://host/file"
        var output: String?
        var headers: [GetOptions.Header] = []
        var resumes = true
        var verbosity = GetOptions.Verbosity.normal

        var testDescription: String { words }
    }

    @Test(
        "tells get what to load, where to and how",
        arguments: [
            Get(words: "http://host/file"),
            Get(words: "https://host/file?a=b#c", url: "https://host/file?a=b#c"),
            Get(words: "http://host/file|-o|out.bin", output: "out.bin"),
            Get(words: "-o|out.bin|http://host/file", output: "out.bin"),
            Get(words: "--output|a b|http://host/file", output: "a b"),
            Get(words: "-o|-q|http://host/file", output: "-q"),
            Get(
                words: "-H|Accept: text/plain|http://host/file|--header|X-Empty:",
                headers: [.init(name: "Accept", value: "text/plain"), .init(name: "X-Empty", value: "")]),
            Get(words: "-H|X:a:b|http://host/file", headers: [.init(name: "X", value: "a:b")]),
            Get(words: "--no-resume|http://host/file", resumes: false),
            Get(words: "-q|http://host/file", verbosity: .quiet),
            Get(words: "--quiet|-q|http://host/file", verbosity: .quiet),
            Get(words: "-v|http://host/file", verbosity: .verbose),
            Get(words: "--verbose|--|http://host/file", verbosity: .verbose),
        ])
    func getOptions(expected: Get) throws {
        let options = try GetOptions(arguments: expected.words.components(separatedBy: "|"))
        #expect(options.url.absoluteString == expected.url)
        #expect(options.output == expected.output)
        #expect(options.headers == expected.headers)
        #expect(options.resumes == expected.resumes)
        #expect(options.verbosity == expected.verbosity)
    }

    @Test(
        "is refused with a sentence when it cannot be understood",
        arguments: [
            ("fetch", "There is no command “fetch”."),
            ("help|fetch", "There is no command “fetch”."),
            ("demo|now", "“demo” takes no arguments."),
            ("get", "The URL is missing."),
            ("get|--", "The URL is missing."),
            ("get|host/file", "“host/file” is not a URL such as http://host/file."),
            ("get|localhost:80/file", "“localhost:80/file” is not a URL such as http://host/file."),
            ("get|http://a/b|http://a/c", "One URL at a time, please: what is “http://a/c”?"),
            ("get|http://a/b|-x", "There is no option “-x”."),
            ("get|--|-x", "“-x” is not a URL such as http://host/file."),
            ("get|http://a/b|-o", "“-o” needs a value."),
            ("get|http://a/b|-o|x|-o|y", "“-o” was given twice."),
            ("get|http://a/b|-o|-", "“-o” needs the name of a file; a download cannot go on in a pipe."),
            ("get|http://a/b|-H|Accept", "“Accept” is not a header field such as 'Name: value'."),
            ("get|http://a/b|-H|: x", "“: x” is not a header field such as 'Name: value'."),
            ("get|http://a/b|-H|range: bytes=0-1", "“range” is set by purl itself."),
            ("get|http://a/b|-H|If-Range: x", "“If-Range” is set by purl itself."),
            ("get|http://a/b|-q|-v", "“-q” and “-v” contradict each other."),
        ])
    func refusals(words: String, sentence: String) {
        let error = #expect(throws: UsageError.self) {
            try Command(arguments: words.components(separatedBy: "|"))
        }
        #expect(error?.sentence == sentence)
    }
}
