import Foundation
import Purl
import PurlTLS

/// Prints what `-v` shows of each handshake: what was agreed upon, and who the server is.
struct VerboseTLS: TLSProvider {
    private let provider: any TLSProvider
    private let console: Console

    /// - Parameter provider: Makes the connections.
    init(_ provider: any TLSProvider, _ console: Console) {
        self.provider = provider
        self.console = console
    }

    func makeConnection(_ request: TLSConnectionRequest) throws -> any TLSConnection {
        VerboseTLSConnection(try provider.makeConnection(request), to: request, console)
    }
}

/// One connection of the provider's, whose handshake is printed.
private final class VerboseTLSConnection: TLSConnection {
    private let connection: any TLSConnection
    private let request: TLSConnectionRequest
    private let console: Console

    init(_ connection: any TLSConnection, to request: TLSConnectionRequest, _ console: Console) {
        self.connection = connection
        self.request = request
        self.console = console
    }

    func handshake() throws -> TLSHandshakeStep {
        let step = try connection.handshake()
        if case .done(let result) = step {
            for line in HandshakeText.lines(result, with: request) { console.print(line) }
        }
        return step
    }

    func receiveCiphertext(_ bytes: UnsafeRawBufferPointer) { connection.receiveCiphertext(bytes) }
    func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int { connection.sendCiphertext(into: buffer) }
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> TLSRead { try connection.read(into: buffer) }
    func write(_ content: UnsafeRawBufferPointer) throws -> Int { try connection.write(content) }
    func finishWriting() { connection.finishWriting() }
}

/// A handshake as `-v` prints it.
enum HandshakeText {
    static func lines(_ result: TLSHandshakeResult, with request: TLSConnectionRequest) -> [String] {
        let agreed = [
            result.version.name, result.cipherSuite.map { "\($0)" }, result.applicationProtocol,
            result.isResumed ? "resumed" : nil,
        ]
        let host = request.host.contains(":") ? "[\(request.host)]" : request.host
        var lines = ["* TLS with \(host):\(request.port): " + agreed.compactMap(\.self).joined(separator: ", ")]
        if let own = result.trust.certificates.first, let certificate = try? CertificateDescription(der: own) {
            lines += describe(certificate).map { "*   \($0)" }
        }
        if let problem = result.trust.problem {
            lines.append("*   not trusted: \(result.trust.reason ?? "\(problem)")")
        }
        return lines
    }

    private static func describe(_ certificate: CertificateDescription) -> [String] {
        let names = certificate.subjectAlternativeNames.map { $0.replacing(/^(DNS|IP):/, with: "") }
        let shown = names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " and \(names.count - 5) more" : "")
        return [
            "subject: \(certificate.subject)", "issuer: \(certificate.issuer)",
            "valid: \(certificate.notBefore.formatted(.iso8601)) to \(certificate.notAfter.formatted(.iso8601))",
        ] + (names.isEmpty ? [] : ["names: \(shown)"]) + ["pin: \(certificate.publicKeyPin)"]
    }
}
