import Foundation
import Purl
import PurlOpenSSL
import PurlTLS
import PurlTesting

/// Whether this machine has OpenSSL: without it these suites are skipped.
package let hasOpenSSL = (try? OpenSSLLibrary.shared()) != nil

/// The other side of a ``Purl/TLSConnection`` in the same process: an `SSL` that accepts, between two buffers of OpenSSL's.
package final class MemoryServer {
    package enum Outcome: Equatable {
        case trusted
        case problem(TLSTrust.Problem)
        case failed(TLSError.Kind)
    }

    private let functions: ServerFunctions
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer

    /// - Parameter context: Made by ``ServerFunctions/context(_:versions:requiringClient:)``; the caller frees it.
    package init(_ context: OpaquePointer) throws {
        functions = try ServerFunctions.shared.get()
        self.context = context
        ssl = functions.new(context)!
        incoming = functions.newBIO(functions.memory())!
        outgoing = functions.newBIO(functions.memory())!
        functions.setBIO(ssl, incoming, outgoing)
        functions.setAccept(ssl)
    }

    deinit {
        functions.free(ssl)
        functions.clearErrors()
    }

    /// Gives the server bytes of the client's, and takes what it answers.
    package func exchange(_ bytes: [UInt8]) -> [UInt8] {
        if !bytes.isEmpty { _ = functions.writeBIO(incoming, bytes, Int32(bytes.count)) }
        if functions.isFinished(ssl) != 1 { _ = functions.handshake(ssl) }
        return takeOutgoing()
    }

    /// Sends content.
    package func send(_ content: [UInt8]) -> [UInt8] {
        _ = functions.write(ssl, content, Int32(content.count))
        return takeOutgoing()
    }

    /// Changes the keys of TLS 1.3, and asks the client so many times to do so, too (RFC 8446 §4.6.3).
    package func askForNewKeys(count: Int) -> [UInt8] {
        for _ in 0..<count {
            // SSL_KEY_UPDATE_REQUESTED
            _ = functions.updateKeys(ssl, 1)
            _ = functions.handshake(ssl)
        }
        return takeOutgoing()
    }

    /// Content that has come.
    package func receive(_ bytes: [UInt8]) -> [UInt8] {
        _ = functions.writeBIO(incoming, bytes, Int32(bytes.count))
        var content = [UInt8]()
        var piece = [UInt8](repeating: 0, count: 16_384)
        while case let count = functions.read(ssl, &piece, Int32(piece.count)), count > 0 {
            content += piece[..<Int(count)]
        }
        functions.clearErrors()
        return content
    }

    private func takeOutgoing() -> [UInt8] {
        functions.clearErrors()
        var bytes = [UInt8]()
        var piece = [UInt8](repeating: 0, count: 16_384)
        while case let count = functions.readBIO(outgoing, &piece, Int32(piece.count)), count > 0 {
            bytes += piece[..<Int(count)]
        }
        return bytes
    }
}

/// What a server needs of OpenSSL.
package struct ServerFunctions: Sendable {
    package typealias Pointer = OpaquePointer
    package typealias Free = @Sendable @convention(c) (Pointer?) -> Void

    package static let shared = Result { try ServerFunctions(OpenSSLLibrary.shared()) }

    let new: @Sendable @convention(c) (Pointer?) -> Pointer?
    let free: Free
    let setBIO: @Sendable @convention(c) (Pointer?, Pointer?, Pointer?) -> Void
    let setAccept: Free
    let handshake: @Sendable @convention(c) (Pointer?) -> Int32
    let updateKeys: @Sendable @convention(c) (Pointer?, Int32) -> Int32
    let isFinished: @Sendable @convention(c) (Pointer?) -> Int32
    let read: @Sendable @convention(c) (Pointer?, UnsafeMutableRawPointer?, Int32) -> Int32
    let write: @Sendable @convention(c) (Pointer?, UnsafeRawPointer?, Int32) -> Int32
    package let newBIO: @Sendable @convention(c) (Pointer?) -> Pointer?
    package let memory: @Sendable @convention(c) () -> Pointer?
    package let readBIO: @Sendable @convention(c) (Pointer?, UnsafeMutableRawPointer?, Int32) -> Int32
    let writeBIO: @Sendable @convention(c) (Pointer?, UnsafeRawPointer?, Int32) -> Int32
    let clearErrors: @Sendable @convention(c) () -> Void
    package let freeContext: Free
    private let newContext: @Sendable @convention(c) (Pointer?) -> Pointer?
    private let method: @Sendable @convention(c) () -> Pointer?
    private let control: @Sendable @convention(c) (Pointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int
    private let useCertificate: @Sendable @convention(c) (Pointer?, Int32, UnsafePointer<UInt8>?) -> Int32
    private let useKey: @Sendable @convention(c) (Int32, Pointer?, UnsafePointer<UInt8>?, Int) -> Int32
    private let decode:
        @Sendable @convention(c) (Pointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> Pointer?
    private let freeCertificate: Free
    private let setLevel: @Sendable @convention(c) (Pointer?, Int32) -> Void
    private let setSessionContext: @Sendable @convention(c) (Pointer?, UnsafePointer<UInt8>?, UInt32) -> Int32

    private init(_ library: OpenSSLLibrary) throws(OpenSSLUnavailable) {
        func find<Signature>(_ name: String) throws(OpenSSLUnavailable) -> Signature {
            try library.function(name, Signature.self)
        }
        new = try find("SSL_new")
        free = try find("SSL_free")
        setBIO = try find("SSL_set_bio")
        setAccept = try find("SSL_set_accept_state")
        handshake = try find("SSL_do_handshake")
        updateKeys = try find("SSL_key_update")
        isFinished = try find("SSL_is_init_finished")
        read = try find("SSL_read")
        write = try find("SSL_write")
        newBIO = try find("BIO_new")
        memory = try find("BIO_s_mem")
        readBIO = try find("BIO_read")
        writeBIO = try find("BIO_write")
        clearErrors = try find("ERR_clear_error")
        freeContext = try find("SSL_CTX_free")
        newContext = try find("SSL_CTX_new")
        method = try find("TLS_server_method")
        control = try find("SSL_CTX_ctrl")
        useCertificate = try find("SSL_CTX_use_certificate_ASN1")
        useKey = try find("SSL_CTX_use_PrivateKey_ASN1")
        decode = try find("d2i_X509")
        freeCertificate = try find("X509_free")
        setLevel = try find("SSL_CTX_set_security_level")
        setSessionContext = try find("SSL_CTX_set_session_id_context")
    }

    /// A server's settings, which the caller frees.
    ///
    /// - Parameter isElliptic: Whether the key is one of an elliptic curve's.
    package func context(_ identity: TestIdentity, versions: ClosedRange<UInt16> = 0x0303...0x0304) throws -> Pointer {
        let context = newContext(method())!
        setLevel(context, 0)
        // SSL_CTRL_SET_MIN_PROTO_VERSION, SSL_CTRL_SET_MAX_PROTO_VERSION
        _ = control(context, 123, Int(versions.lowerBound), nil)
        _ = control(context, 124, Int(versions.upperBound), nil)
        _ = setSessionContext(context, [1], 1)
        let own = [UInt8](identity.certificates[0])
        let key = [UInt8](try identity.privateKeyDER)
        // EVP_PKEY_EC
        guard useCertificate(context, Int32(own.count), own) == 1, useKey(408, context, key, key.count) == 1 else {
            freeContext(context)
            throw TLSError(.unusableSettings, reason: "the server's certificate cannot be used")
        }
        for issuer in identity.certificates.dropFirst() {
            issuer.withUnsafeBytes { bytes in
                var position = bytes.bindMemory(to: UInt8.self).baseAddress
                let certificate = decode(nil, &position, bytes.count)
                // SSL_CTX_add1_chain_cert
                _ = control(context, 89, 1, certificate.map { UnsafeMutableRawPointer($0) })
                freeCertificate(certificate)
            }
        }
        return context
    }
}

/// Both sides of a handshake wait for each other.
package struct NoEnd: Error {}

/// A client and a server in memory.
package final class MemoryPair {
    package let client: any TLSConnection
    package let server: MemoryServer
    private let context: OpaquePointer

    package init(
        _ provider: SystemTLS, _ identity: TestIdentity, host: String = "localhost",
        versions: ClosedRange<UInt16> = 0x0303...0x0304,
        request: ((String) -> TLSConnectionRequest) = { TLSConnectionRequest(host: $0, port: 443) }
    ) throws {
        context = try ServerFunctions.shared.get().context(identity, versions: versions)
        server = try MemoryServer(context)
        client = try provider.makeConnection(request(host))
    }

    /// A pair with a server that others have, too, so that sessions can be resumed.
    package init(_ provider: SystemTLS, serverContext: OpaquePointer, _ request: TLSConnectionRequest) throws {
        context = serverContext
        server = try MemoryServer(serverContext)
        client = try provider.makeConnection(request)
        isShared = true
    }

    private var isShared = false

    deinit {
        if !isShared, case .success(let functions) = ServerFunctions.shared { functions.freeContext(context) }
    }

    /// What the client has to send.
    package func takeCiphertext() -> [UInt8] {
        var bytes = [UInt8]()
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            while case let count = client.sendCiphertext(into: buffer), count > 0 { bytes += buffer[..<count] }
        }
        return bytes
    }

    /// Takes the handshake to its end.
    ///
    /// - Parameter change: What happens to the server's bytes on the way.
    package func handshake(_ change: (inout [UInt8]) -> Void = { _ in }) throws -> TLSHandshakeResult {
        for _ in 0..<10 {
            if case .done(let result) = try client.handshake() {
                var answer = server.exchange(takeCiphertext())
                change(&answer)
                answer.withUnsafeBytes { if !$0.isEmpty { client.receiveCiphertext($0) } }
                return result
            }
            var answer = server.exchange(takeCiphertext())
            change(&answer)
            answer.withUnsafeBytes { if !$0.isEmpty { client.receiveCiphertext($0) } }
        }
        throw NoEnd()
    }

    /// Content that has come to the client.
    package func read() throws -> [UInt8] {
        var content = [UInt8]()
        try withUnsafeTemporaryAllocation(byteCount: 70_000, alignment: 1) { buffer in
            while case .content(let count) = try client.read(into: buffer) { content += buffer[..<count] }
        }
        return content
    }

    package func write(_ content: [UInt8]) throws -> [UInt8] {
        var written = 0
        try content.withUnsafeBytes { bytes in
            while written < bytes.count {
                written += try client.write(UnsafeRawBufferPointer(rebasing: bytes[written...]))
            }
        }
        return takeCiphertext()
    }

    package var outcome: MemoryServer.Outcome {
        do {
            let problem = try handshake().trust.problem
            return problem.map { .problem($0) } ?? .trusted
        } catch let error as TLSError {
            return .failed(error.kind)
        } catch {
            return .failed(.malformed)
        }
    }
}

extension SystemTLS {
    /// A provider that trusts an authority alone.
    package static func trusting(_ authority: TestAuthority, _ change: (inout Options) -> Void = { _ in }) throws
        -> SystemTLS
    {
        var options = Options(roots: .only([.data(try authority.rootDER)]))
        change(&options)
        return SystemTLS(options)
    }
}
