import Foundation
import Purl
import PurlTLS

/// Loads URLs over TLS, each in a session of its own with the same provider, and prints a line about each: how it was
/// loaded, or the error's code and sentence.
///
///     TLSSubject [--cacert FILE] [--cert FILE] [--pin sha256//…] [--insecure] [--timeout SECONDS] [--times N] [--trust]
///         [--local] [--stream] URL…
///
/// - `--times`: loads each URL so many times at once, and prints a line about all.
/// - `--trust`: the delegate trusts every server.
/// - `--local`: every name is this machine's.
/// - `--stream`: a stream task makes its connection secure after it has opened, and sends the request by hand.
@main
struct Main {
    private var roots: String?
    private var certificate: String?
    private var pins: Set<PublicKeyPin> = []
    private var verification = SystemTLS.Verification.required
    private var timeout = 20.0
    private var times = 1
    private var trusts = false
    private var isLocal = false
    private var usesStream = false
    private var urls: [URL] = []

    static func main() async throws {
        var main = Main()
        var words = CommandLine.arguments.dropFirst()
        while let word = words.popFirst() {
            switch word {
            case "--cacert": main.roots = words.popFirst()
            case "--cert": main.certificate = words.popFirst()
            case "--pin": main.pins.formUnion(words.popFirst().flatMap { PublicKeyPin($0) }.map { [$0] } ?? [])
            case "--insecure": main.verification = .insecure
            case "--timeout": main.timeout = words.popFirst().flatMap { Double($0) } ?? 20
            case "--times": main.times = words.popFirst().flatMap { Int($0) } ?? 1
            case "--trust": main.trusts = true
            case "--local": main.isLocal = true
            case "--stream": main.usesStream = true
            default: main.urls.append(contentsOf: URL(string: word).map { [$0] } ?? [])
            }
        }
        try await main.run()
    }

    private func run() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = timeout
        configuration.httpMaximumConnectionsPerHost = 64
        configuration.tlsProvider = SystemTLS(
            SystemTLS.Options(
                roots: roots.map { .only([.file($0)]) } ?? .system,
                identity: certificate.map { .pem(certificates: .file($0)) }, pins: pins, verification: verification))
        if isLocal { configuration.resolver = LocalResolver() }
        for url in urls {
            let session = URLSession(
                configuration: configuration, delegate: Delegate(trusts: trusts), delegateQueue: nil)
            defer { session.invalidateAndCancel() }
            do {
                print(try await usesStream ? stream(url, in: session) : load(url, in: session))
            } catch {
                let sentence = (error as NSError).localizedFailureReason ?? "\(error)"
                print("error \((error as NSError).code) \(sentence)")
            }
        }
    }

    /// Loads a URL as often as asked.
    private func load(_ url: URL, in session: URLSession) async throws -> String {
        let lengths = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for _ in 0..<times {
                group.addTask {
                    let (data, response) = try await session.data(from: url)
                    return ((response as? HTTPURLResponse)?.statusCode ?? 0, data.count)
                }
            }
            return try await group.reduce(into: [Int: Int]()) { $0[$1.0, default: 0] += $1.1 }
        }
        return "ok " + lengths.map { "\($0.key) \($0.value)" }.sorted().joined(separator: " ")
    }

    /// Speaks HTTP by hand on a stream that becomes secure.
    private func stream(_ url: URL, in session: URLSession) async throws -> String {
        let host = url.host() ?? ""
        let task = session.streamTask(withHostName: host, port: url.port ?? 443)
        task.resume()
        task.startSecureConnection()
        let request = "GET \(url.path()) HTTP/1.0\r\nHost: \(host)\r\n\r\n"
        try await task.write(Data(request.utf8), timeout: timeout)
        var received = Data()
        while true {
            let (data, isAtEnd) = try await task.readData(ofMinLength: 1, maxLength: 1 << 16, timeout: timeout)
            received += data ?? Data()
            if isAtEnd { break }
        }
        let head = String(decoding: received.prefix(15), as: UTF8.self)
        return "ok \(head.split(separator: " ").dropFirst().first ?? "?") \(received.count)"
    }
}

private struct LocalResolver: HostResolver {
    func addresses(of host: String) -> [String] { ["127.0.0.1"] }
}

/// Trusts every server, if it is to.
final class Delegate: NSObject, URLSessionDelegate {
    private let trusts: Bool

    init(trusts: Bool) {
        self.trusts = trusts
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard trusts, let trust = challenge.protectionSpace.serverTrust else {
            return completionHandler(.performDefaultHandling, nil)
        }
        completionHandler(.useCredential, URLCredential(trust: trust))
    }
}
