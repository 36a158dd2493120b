import Foundation
import Purl
import PurlTLS
import Testing

@testable import PurlCommand

@Suite("The options of https")
struct TLSOptionsTests {
    private static let first = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    private static let second = "sha256//" + Data(repeating: 1, count: 32).base64EncodedString()

    private func options(_ words: [String]) throws -> TLSOptions? {
        try GetOptions.syntax.parse(["https://h/f"] + words)?.tls
    }

    @Test(
        "are those of get, put, ws and clean",
        arguments: ["--cacert=a", "--capath=b", "--cert=c", "--cert=c --key=d", "--pin=\(first)", "--insecure", "-k"])
    func commands(text: String) throws {
        let words = text.components(separatedBy: " ")
        let expected = try #require(try options(words))
        #expect(expected != TLSOptions())
        #expect(try PutOptions.syntax.parse(["f", "https://h/f"] + words)?.tls == expected)
        #expect(try WebSocketOptions.syntax.parse(["wss://h/f"] + words)?.tls == expected)
        #expect(try FolderOptions.clean.parse(words)?.tls == expected)
    }

    @Test("take several pins, each with its option or separated by semicolons")
    func pins() throws {
        let pins = Set([Self.first, Self.second].compactMap { PublicKeyPin($0) })
        #expect(pins.count == 2)
        let one = try #require(try options(["--pin", "\(Self.first);\(Self.second)"]))
        let two = try #require(try options(["--pin", Self.first, "--pin", Self.second]))
        for options in [one, two] { #expect(options.pins.reduce([]) { $0.union($1) } == pins) }
    }

    @Test(
        "need a value that can be used",
        arguments: [
            (["--pin", "sha256//abc"], "“--pin” needs sha256// and the digest of a key in base64, not “sha256//abc”"),
            (["--pin", "file.pem"], "“--pin” needs sha256// and the digest of a key in base64, not “file.pem”"),
            (["--pin", "\(first);x"], "“--pin” needs sha256// and the digest of a key in base64, not “\(first);x”"),
            (["--pin", ";"], "“--pin” needs sha256// and the digest of a key in base64, not “;”"),
            (["--cacert", ""], "“--cacert” needs a name"), (["--key", "k"], "“--key” needs “--cert”"),
        ])
    func refusals(words: [String], sentence: String) throws {
        let error = try #require(throws: UsageError.self) { try options(words) }
        #expect(error.line.hasPrefix(sentence))
    }

    @Test("leave a configuration's own provider where none is given")
    func ownProvider() throws {
        struct OwnProvider: TLSProvider {
            func makeConnection(_ request: TLSConnectionRequest) throws -> any TLSConnection {
                throw TLSError(.notTLS, reason: "")
            }
        }
        let console = MessagePrinter(console: Console(STDERR_FILENO), isQuiet: false, subject: nil)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.tlsProvider = OwnProvider()
        try TLSOptions().apply(to: configuration, console, isVerbose: false)
        #expect(configuration.tlsProvider is OwnProvider)
        var pinned = TLSOptions()
        pinned.pins = [Set([Self.first].compactMap { PublicKeyPin($0) })]
        try pinned.apply(to: configuration, console, isVerbose: false)
        #expect((configuration.tlsProvider as? SystemTLS)?.options.pins.count == 1)
    }
}
