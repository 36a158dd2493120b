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
        var endless = 0
        while true {
            // Another port each time, so that none is resumed.
            let pair = try MemoryPair(
                provider, serverContext: context, TLSConnectionRequest(host: "localhost", port: position + 1))
            var seen = 0
            var flipped = false
            do {
                let result = try pair.handshake { answer in
                    if position >= seen, position < seen + answer.count, !flipped {
                        answer[position - seen] ^= 1 << UInt8(position % 8)
                        flipped = true
                    }
                    seen += answer.count
                }
                if !flipped { break }
                // Behind the handshake are records of content: they fail when they are read.
                #expect(result.trust.problem == nil)
                do {
                    _ = try pair.read()
                } catch let error as TLSError {
                    kinds[error.kind, default: 0] += 1
                }
            } catch let error as TLSError {
                kinds[error.kind, default: 0] += 1
                // What it has to send, such as an alert, can be taken, and another call is an error again.
                _ = pair.takeCiphertext()
                #expect(throws: TLSError.self) { try pair.client.handshake() }
            } catch is NoEnd {
                // A record that is announced longer than it is: the request's time-out ends it.
                endless += 1
            }
            if !flipped { break }
            position += 1
        }
        #expect(position > 500)
        #expect(kinds[.malformed, default: 0] > position / 2)
        #expect(endless < 40)
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
