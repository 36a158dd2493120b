import PurlHTTP
import Testing

@Suite("Negotiating permessage-deflate (RFC 7692 §7.1)")
struct DeflateNegotiationTests {
    typealias Agreed = PermessageDeflate

    static let answers: [(offer: String, answer: String, agreed: PermessageDeflate?)] = [
        ("permessage-deflate", "permessage-deflate", Agreed()),
        ("permessage-deflate", "permessage-deflate; server_no_context_takeover", Agreed(serverNoContextTakeover: true)),
        ("permessage-deflate", "permessage-deflate; client_no_context_takeover", Agreed(clientNoContextTakeover: true)),
        ("permessage-deflate", "permessage-deflate; server_max_window_bits=10", Agreed(serverMaxWindowBits: 10)),
        ("permessage-deflate", "permessage-deflate; server_max_window_bits=\"8\"", Agreed(serverMaxWindowBits: 8)),
        // Only where it was offered.
        ("permessage-deflate", "permessage-deflate; client_max_window_bits=10", nil),
        (
            "permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits=9",
            Agreed(clientMaxWindowBits: 9)
        ),
        ("permessage-deflate; client_max_window_bits=10", "permessage-deflate", Agreed(clientMaxWindowBits: 10)),
        ("permessage-deflate; client_max_window_bits=10", "permessage-deflate; client_max_window_bits=11", nil),
        // What was asked of the server it has to repeat.
        ("permessage-deflate; server_no_context_takeover", "permessage-deflate", nil),
        (
            "permessage-deflate; server_no_context_takeover", "permessage-deflate; server_no_context_takeover",
            Agreed(serverNoContextTakeover: true)
        ),
        ("permessage-deflate; server_max_window_bits=10", "permessage-deflate", nil),
        ("permessage-deflate; server_max_window_bits=10", "permessage-deflate; server_max_window_bits=11", nil),
        (
            "permessage-deflate; server_max_window_bits=10", "permessage-deflate; server_max_window_bits=9",
            Agreed(serverMaxWindowBits: 9)
        ),
        ("permessage-deflate; client_no_context_takeover", "permessage-deflate", Agreed(clientNoContextTakeover: true)),
        // Broken answers.
        ("permessage-deflate", "permessage-deflate; server_max_window_bits=7", nil),
        ("permessage-deflate", "permessage-deflate; server_max_window_bits=16", nil),
        ("permessage-deflate", "permessage-deflate; server_max_window_bits=010", nil),
        ("permessage-deflate", "permessage-deflate; server_max_window_bits", nil),
        ("permessage-deflate", "permessage-deflate; server_no_context_takeover=1", nil),
        ("permessage-deflate", "permessage-deflate; server_max_window_bits=10; server_max_window_bits=10", nil),
        ("permessage-deflate; client_max_window_bits", "permessage-deflate; client_max_window_bits", nil),
        ("permessage-deflate", "permessage-deflate; unknown", nil),
        ("permessage-deflate", "x-webkit-deflate-frame", nil),
    ]

    @Test("A client accepts a response that matches its offer, and no other", arguments: answers)
    func client(offer: String, answer: String, agreed: PermessageDeflate?) throws {
        let offered = try #require(WebSocketExtension(offer).flatMap { PermessageDeflateOffer($0) })
        let answered = try #require(WebSocketExtension(answer))
        #expect(offered.agreement(with: answered) == agreed)
    }

    static let badOffers = [
        "permessage-deflate; server_max_window_bits", "permessage-deflate; server_max_window_bits=7",
        "permessage-deflate; client_max_window_bits=16", "permessage-deflate; client_no_context_takeover=true",
        "permessage-deflate; a", "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
        "other",
    ]

    @Test("A server ignores invalid offers", arguments: badOffers)
    func badOffer(offer: String) throws {
        #expect(try PermessageDeflateOffer(#require(WebSocketExtension(offer))) == nil)
    }

    static let accepted: [(offer: String, wishes: PermessageDeflate, answer: String)] = [
        ("permessage-deflate", Agreed(), "permessage-deflate"),
        (
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=10", Agreed(),
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=10"
        ),
        (
            "permessage-deflate; client_max_window_bits", Agreed(serverMaxWindowBits: 9, clientMaxWindowBits: 11),
            "permessage-deflate; server_max_window_bits=9; client_max_window_bits=11"
        ),
        ("permessage-deflate", Agreed(clientMaxWindowBits: 11), "permessage-deflate"),
        (
            "permessage-deflate; client_max_window_bits=9", Agreed(clientMaxWindowBits: 11),
            "permessage-deflate; client_max_window_bits=9"
        ),
        (
            "permessage-deflate", Agreed(serverNoContextTakeover: true, clientNoContextTakeover: true),
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
        ),
    ]

    @Test("A server's response gives the client the same agreement", arguments: accepted)
    func server(offer: String, wishes: PermessageDeflate, answer: String) throws {
        let offered = try #require(WebSocketExtension(offer).flatMap { PermessageDeflateOffer($0) })
        let result = offered.accept(wishes)
        #expect(result.response == answer)
        #expect(try offered.agreement(with: #require(WebSocketExtension(answer))) == result.agreed)
    }

    @Test("A damaged extension is rejected, or written and read as the same", arguments: Array(UInt64(0)..<16))
    func damaged(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let sound = "permessage-deflate; server_no_context_takeover; client_max_window_bits=\"10\""
        for _ in 0..<300 {
            let text = String(decoding: random.mutated(sound.bytes), as: UTF8.self)
            guard let read = WebSocketExtension(text), let offer = PermessageDeflateOffer(read) else { continue }
            #expect(WebSocketExtension(offer.description).flatMap { PermessageDeflateOffer($0) } == offer)
        }
    }
}
