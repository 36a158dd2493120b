internal import Foundation
internal import PurlTesting

/// What can be wrong with a message.
extension Fault {
    /// Wherever an answer may break off or stop.
    static let phases: [Fault] = deliveries.flatMap { delivery -> [Fault] in
        delivery.phases.flatMap { phase -> [Fault] in
            endings.compactMap { ending -> Fault? in
                // The end of the stream is how such a body ends.
                if delivery.endsWithStream, ending.fault == .cut { return nil }
                let fault = Fault(
                    "\(ending.name) \(delivery.name)", "\(phase)", .failure(ending.code),
                    prepare: { $0.answer(delivery.change($0.resource).fault(ending.fault, at: phase)) }
                ).with { $0.sendsResource = true }
                guard ending.passesTime else { return fault }
                // All content is there: a background session that has still time asks for the rest, and there is none.
                return phase == .trailers
                    ? fault.timed.expecting { $0.isBackground ? .either(ending.code) : .failure(ending.code) }
                    : fault.timed
            }
        }
    }

    private struct Delivery: Sendable {
        let name: String
        let phases: [Reply.Phase]
        var endsWithStream = false
        let change: @Sendable (Reply) -> Reply
    }

    private static let deliveries = [
        Delivery(
            name: "with a length",
            phases: [.beforeHead, .statusLine, .field, .midHead, .afterBodyBytes(0), .midBody], change: { $0 }),
        Delivery(
            name: "in chunks",
            phases: [.beforeHead, .afterBodyBytes(0), .chunk, .chunkSize, .midBody, .trailers],
            change: { $0.chunked(size: 3000, trailers: ["X-Sum": "none"]) }),
        Delivery(
            name: "until the end of the stream", phases: [.afterBodyBytes(0), .midBody], endsWithStream: true,
            change: { $0.untilClose() }),
        Delivery(
            name: "after an interim response", phases: [.beforeHead, .statusLine], change: { $0.interim(103) }),
    ]

    private struct Ending: Sendable {
        let name: String
        let fault: Reply.Fault
        let code: URLError.Code
        var passesTime = false
    }

    private static let endings = [
        Ending(name: "end of stream", fault: .cut, code: .networkConnectionLost),
        Ending(name: "reset", fault: .reset, code: .networkConnectionLost),
        Ending(name: "stall", fault: .stall(until: nil), code: .timedOut, passesTime: true),
    ]

    /// Messages that are no HTTP, or too much of it, or whose end is in doubt.
    static let malformed: [Fault] =
        (table("status line", BadResponse.statusLines) + table("field line", BadResponse.fieldLines)
        + table("limit", BadResponse.limits) + table("framing", BadResponse.framings)).map {
            $0.with { $0.isNoResponse = true }
        } + table("chunk", BadResponse.chunks) + table("chunk limit", BadResponse.chunkLimits)

    private static func table(_ group: String, _ responses: [BadResponse]) -> [Fault] {
        responses.map { Fault(group, $0.description, .raw($0.text, then: .keepOpen), .failure($0.code)) }
    }

    /// Streams that end where there is still something to come, in the words of the wire.
    static let lost: [Fault] =
        [
            ("in a chunk's size", "Transfer-Encoding: chunked", "5\r\nhello\r\n1"),
            ("in the last chunk", "Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n"),
            ("in the trailers", "Transfer-Encoding: chunked", "0\r\nX: y\r\n"),
            ("in the largest chunk", "Transfer-Encoding: chunked", "7FFFFFFFFFFFFFFF\r\nhello"),
            ("in the longest body", "Content-Length: 9223372036854775807", "hello"),
        ].map { name, field, body in
            Fault(
                "end of stream", name, .raw("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n\(body)"),
                .failure(.networkConnectionLost))
        } + [
            Fault(
                "end of stream", "after an interim response", .raw("HTTP/1.1 100 Continue\r\n\r\n"),
                .failure(.networkConnectionLost))
        ]

    // MARK: Bytes that belong to nothing

    private static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    /// The body, if there may be one, is all there is; nothing after it is ever taken for an answer.
    static let surplus: [Fault] = [
        surplus("after a length", "200 OK\r\nContent-Length: 5", "hello", .text("hello")),
        surplus("after a length of nothing", "200 OK\r\nContent-Length: 0", "", .text("")),
        surplus(
            "after the last chunk", "200 OK\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n", .text("hello")),
        surplus("after a 404", "404 Not Found\r\nContent-Length: 5", "hello", .text("hello", status: 404)),
        surplus("after a 204", "204 No Content", "", .text("", status: 204)),
        surplus("after a 204 with a length", "204 No Content\r\nContent-Length: 5", "hello", .text("", status: 204)),
        surplus(
            "after a 204 in chunks", "204 No Content\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n",
            .text("", status: 204)),
        surplus("after a 304", "304 Not Modified\r\nContent-Length: 5", "hello", .text("", status: 304)),
        surplus("after HEAD", "200 OK\r\nContent-Length: 5", "hello", .text(""))
            .with { $0.changeRequest = { $0.httpMethod = "HEAD" } }
            .only { !$0.isUpload && !$0.isResumed && $0 != .dataToFile },
        Fault(
            "surplus", "in a packet of its own",
            .raw(["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", evil].map { Data($0.utf8) }, then: .keepOpen),
            .text("hello")),
        Fault(
            "surplus", "an unasked farewell",
            .raw(
                [
                    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                    "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                ].map { Data($0.utf8) }), .text("hello")),
    ]

    private static func surplus(
        _ name: String, _ head: String, _ body: String, _ expectation: Expectation
    ) -> Fault {
        Fault("surplus", name, .raw("HTTP/1.1 \(head)\r\n\r\n\(body)\(evil)", then: .keepOpen)) { kind in
            // A resumed download takes the rest of the file, and no other response.
            if kind.isResumed, case .success(let status, _) = expectation, status != 200 {
                return .failure(.badServerResponse)
            }
            return expectation
        }
    }
}
