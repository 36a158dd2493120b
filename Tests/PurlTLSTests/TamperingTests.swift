import Foundation
import MemoryTLS
import Purl
import PurlTLS
import PurlTesting
import Testing

@Suite("Handshakes that are tampered with", .enabled(if: hasOpenSSL))
struct TamperingTests {
    private static let authority = TestAuthority()

    @Test(
        "A bit that is flipped at any place of what the server sends ends in one error, or waits for the rest of a record",
        arguments: [0x0303, 0x0304] as [UInt16])
    func flips(version: UInt16) throws {
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        let provider = try SystemTLS.trusting(Self.authority)
        let functions = try ServerFunctions.shared.get()
        let context = try functions.context(identity, versions: version...version)
        defer { functions.freeContext(context) }
        var position = 0
        var kinds: [TLSError.Kind: Int] = [:]
        var waiting = 0
        var isOver = false
        while !isOver {
            // Another port each time, so that none is resumed.
            let pair = try MemoryPair(
                provider, serverContext: context, TLSConnectionRequest(host: "localhost", port: position + 1))
            switch try pair.outcome(of: BitFlip(.server, at: position, bit: position % 8)) {
            case .failed(let kind): kinds[kind, default: 0] += 1
            case .waiting: waiting += 1
            case .harmless(let place):
                // RFC 8446 §5.1: the version in the head of a record that is not encrypted.
                #expect([1, 2].contains(place.offset) && place.type != 23, "\(place)")
            case .missed: isOver = true
            }
            position += 1
        }
        #expect(position > 500)
        #expect(kinds[.malformed, default: 0] > position / 2)
        #expect(waiting < 40)
    }

    @Test("What is no TLS is an error that says so", arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "220 ready\r\n"])
    func plainText(text: String) throws {
        let client = try SystemTLS.trusting(Self.authority).makeConnection(
            TLSConnectionRequest(host: "localhost", port: 443))
        #expect(try client.handshake() == .waiting)
        Array(text.utf8).withUnsafeBytes { client.receiveCiphertext($0) }
        #expect {
            try client.handshake()
        } throws: { error in
            (error as? TLSError)?.kind == .notTLS
        }
    }

    @Test("A connection that is dropped in the middle of its handshake leaves nothing behind")
    func dropped() throws {
        let identity = try Self.authority.issue(.valid(for: ["localhost"]))
        let provider = try SystemTLS.trusting(Self.authority)
        for length in stride(from: 0, to: 2000, by: 97) {
            let pair = try MemoryPair(provider, identity)
            _ = try pair.client.handshake()
            let answer = pair.server.exchange(pair.takeCiphertext()).prefix(length)
            answer.withUnsafeBytes { pair.client.receiveCiphertext($0) }
            _ = try pair.client.handshake()
        }
        #expect(try MemoryPair(provider, identity).outcome == .trusted)
    }
}
