internal import Foundation
package import Purl
import Synchronization

/// What the fake security layer sends: records of a kind, a length and bytes that are changed in a way that anybody can
/// undo. It secures nothing, and stands in for a TLS library.
package enum FakeRecord {
    package enum Kind: UInt8 {
        case clientHello = 1
        case serverHello
        case content
        case closeNotify
        case alert
        /// Carries no content.
        case ticket
        /// Asks the other side for a record of the kind `newKey`.
        case keyRequest
        case newKey
    }

    package static func encode(_ kind: Kind, _ bytes: some Collection<UInt8> = []) -> [UInt8] {
        [kind.rawValue, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes.map { $0 ^ 0x5A }
    }

    /// Content in records of so many bytes.
    package static func encode(content: some Collection<UInt8>, size: Int) -> [UInt8] {
        var all: [UInt8] = []
        var rest = Array(content)[...]
        while !rest.isEmpty {
            all += encode(.content, rest.prefix(size))
            rest = rest.dropFirst(size)
        }
        return all
    }
}

/// Takes records apart.
package struct FakeReader {
    private var bytes: [UInt8] = []
    private var start = 0

    package init() {}

    package mutating func append(_ more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }

    /// The next whole record; `nil` when there is none.
    package mutating func next() throws -> (FakeRecord.Kind, [UInt8])? {
        guard start < bytes.count else {
            bytes.removeAll(keepingCapacity: true)
            start = 0
            return nil
        }
        guard let kind = FakeRecord.Kind(rawValue: bytes[start]) else {
            throw TLSError(.notTLS, reason: "a record of the kind \(bytes[start])")
        }
        guard bytes.count >= start + 3 else { return nil }
        let length = Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
        guard bytes.count >= start + 3 + length else { return nil }
        defer { start += 3 + length }
        return (kind, bytes[start + 3..<start + 3 + length].map { $0 ^ 0x5A })
    }
}

/// A provider of the fake security layer.
package final class FakeProvider: TLSProvider {
    package struct Script: Sendable {
        /// What is wrong with the server.
        package var problem: @Sendable (TLSConnectionRequest) -> TLSTrust.Problem? = { _ in nil }
        package var applicationProtocol: String? = "http/1.1"
        package var isResumed = false
        /// The error of `makeConnection`.
        package var refusal: TLSError?
        /// How many bytes one `write` takes.
        package var writeLimit = 16_384
        /// How many bytes of content a record has.
        package var recordSize = 16_384
        /// How many bytes one `read` returns.
        package var readLimit = Int.max
    }

    private let script: Script
    private let made = Mutex<[TLSConnectionRequest]>([])
    private let closed = Mutex(0)

    package init(_ change: (inout Script) -> Void = { _ in }) {
        var script = Script()
        change(&script)
        self.script = script
    }

    /// What sessions were made for.
    package var requests: [TLSConnectionRequest] { made.withLock { $0 } }
    /// How many sessions have ended their stream.
    package var finishedSessions: Int { closed.withLock { $0 } }

    package func makeConnection(_ request: TLSConnectionRequest) throws -> any TLSConnection {
        made.withLock { $0.append(request) }
        if let refusal = script.refusal { throw refusal }
        return FakeConnection(request, script) { self.closed.withLock { $0 += 1 } }
    }
}

/// The client's side.
private final class FakeConnection: TLSConnection {
    private let request: TLSConnectionRequest
    private let script: FakeProvider.Script
    private let onFinish: () -> Void
    private var reader = FakeReader()
    private var content: ArraySlice<UInt8> = []
    private var outgoing: [UInt8] = []
    private var hasBegun = false

    init(_ request: TLSConnectionRequest, _ script: FakeProvider.Script, onFinish: @escaping () -> Void) {
        self.request = request
        self.script = script
        self.onFinish = onFinish
    }

    func handshake() throws -> TLSHandshakeStep {
        if !hasBegun {
            hasBegun = true
            outgoing += FakeRecord.encode(.clientHello, Array(request.host.utf8))
        }
        guard let (kind, bytes) = try next() else { return .waiting }
        guard kind == .serverHello else { throw TLSError(.notTLS, reason: "no hello") }
        let trust = TLSTrust(
            host: request.host, certificates: [Data(bytes)], problem: script.problem(request),
            reason: script.problem(request).map { "\($0)" })
        return .done(
            TLSHandshakeResult(
                version: request.maximumVersion, cipherSuite: .AES_128_GCM_SHA256,
                applicationProtocol: request.applicationProtocols.isEmpty ? nil : script.applicationProtocol,
                isResumed: script.isResumed, trust: trust))
    }

    func receiveCiphertext(_ bytes: UnsafeRawBufferPointer) { reader.append(bytes) }

    func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, outgoing.count)
        buffer.copyBytes(from: outgoing[..<count])
        outgoing.removeFirst(count)
        return count
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> TLSRead {
        while content.isEmpty {
            guard let (kind, bytes) = try next() else { return .waiting }
            switch kind {
            case .content: content = bytes[...]
            case .closeNotify: return .end
            case .ticket: continue
            case .keyRequest: outgoing += FakeRecord.encode(.newKey)
            case .clientHello, .serverHello, .alert, .newKey: throw TLSError(.malformed, reason: "\(kind)")
            }
        }
        let count = min(buffer.count, content.count, script.readLimit)
        buffer.copyBytes(from: content.prefix(count))
        content = content.dropFirst(count)
        return .content(count)
    }

    func write(_ content: UnsafeRawBufferPointer) throws -> Int {
        let count = min(content.count, script.writeLimit)
        outgoing += FakeRecord.encode(content: content[..<count], size: script.recordSize)
        return count
    }

    func finishWriting() {
        onFinish()
        outgoing += FakeRecord.encode(.closeNotify)
    }

    /// An alert becomes its error, and an error an alert.
    private func next() throws -> (FakeRecord.Kind, [UInt8])? {
        do {
            guard let (kind, bytes) = try reader.next() else { return nil }
            if kind == .alert, let number = bytes.first { throw TLSError(Self.kinds[Int(number)], reason: "an alert") }
            return (kind, bytes)
        } catch {
            outgoing += FakeRecord.encode(.alert, [0])
            throw error
        }
    }

    private static let kinds = TLSError.Kind.allCases
}
