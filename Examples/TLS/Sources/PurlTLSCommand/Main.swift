import Foundation
import Purl
import PurlCommand
import PurlOpenSSL

/// The executable `purl-tls`: `purl` with TLS, and the options that come with it.
@main
enum Main {
    static func main() async {
        do throws(UsageError) {
            let (options, words) = try TLSOptions.take(from: Array(CommandLine.arguments.dropFirst()))
            let provider = try options.provider()
            let tool = CommandLineTool {
                let configuration = URLSessionConfiguration.default
                configuration.tlsProvider = provider
                return configuration
            }
            exit(await tool.run(words))
        } catch {
            FileHandle.standardError.write(Data("purl-tls: \(error.sentence)\n\n\(TLSOptions.usage)\n".utf8))
            exit(2)
        }
    }
}

/// The command line is invalid, or names a file that cannot be used.
struct UsageError: Error {
    let sentence: String
}

/// The options of TLS, which every command takes.
struct TLSOptions {
    static let usage = """
        Usage: purl-tls COMMAND … with the commands of “purl”, for https and wss as well, and

          --cacert FILE   trust the issuers in FILE (PEM) in place of the system's
          --cert FILE     prove to servers who you are with this certificate (PEM, its issuers after it)
          --key FILE      the private key of the certificate (PEM); without it the key is in the same file
        """

    private var roots: String?
    private var certificate: String?
    private var key: String?

    /// Takes the options out of a command line.
    static func take(from words: [String]) throws(UsageError) -> (options: TLSOptions, rest: [String]) {
        var (options, rest) = (TLSOptions(), [String]())
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--cacert": try take(word, from: &words, into: &options.roots)
            case "--cert": try take(word, from: &words, into: &options.certificate)
            case "--key": try take(word, from: &words, into: &options.key)
            case "--":
                rest += [word] + words
                words = []
            default: rest.append(word)
            }
        }
        if options.key != nil, options.certificate == nil { throw UsageError(sentence: "“--key” needs “--cert”.") }
        return (options, rest)
    }

    private static func take(
        _ option: String, from words: inout ArraySlice<String>, into value: inout String?
    ) throws(UsageError) {
        guard let file = words.popFirst() else { throw UsageError(sentence: "“\(option)” needs a file.") }
        guard value == nil else { throw UsageError(sentence: "Give “\(option)” only once.") }
        value = file
    }

    func provider() throws(UsageError) -> OpenSSLProvider {
        do {
            return try OpenSSLProvider(
                roots: roots.map { .file($0) } ?? .system,
                identity: certificate.map { OpenSSLProvider.Identity(certificates: $0, key: key ?? $0) })
        } catch {
            throw UsageError(sentence: "\(error)")
        }
    }
}
