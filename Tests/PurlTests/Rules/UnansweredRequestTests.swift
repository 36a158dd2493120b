import PurlHTTP
import PurlIO
import Testing

@testable import Purl
@testable import PurlConnections
@testable import SessionFixtures

/// Whether a request without a response is sent once more, without a connection.
@Suite("Requests without a response")
struct UnansweredRequestTests {
    typealias Ending = RequestReach.Ending

    static let reaches: [(sent: Int64, ending: Ending, delivery: DeliveryState?, reach: RequestReach)] = [
        (0, .endOfStream, nil, .unread),
        (0, .failure, nil, .unread),
        (0, .failure, DeliveryState(unacknowledged: 0, end: .reset), .unread),
        (200, .endOfStream, nil, .perhapsRead),
        (200, .endOfStream, DeliveryState(unacknowledged: 200, end: .reset), .unread),
        // An earlier request was not acknowledged to its end.
        (200, .endOfStream, DeliveryState(unacknowledged: 250, end: .reset), .unread),
        (200, .endOfStream, DeliveryState(unacknowledged: 199, end: .reset), .perhapsRead),
        (200, .endOfStream, DeliveryState(unacknowledged: 0, end: .reset), .perhapsRead),
        (200, .endOfStream, DeliveryState(unacknowledged: 200, end: .open), .onItsWay),
        (200, .endOfStream, DeliveryState(unacknowledged: 199, end: .open), .perhapsRead),
        (200, .endOfStream, DeliveryState(unacknowledged: 200, end: .failed), .perhapsRead),
        (200, .failure, nil, .perhapsRead),
        // The server may have read it, and then reset the connection before its system acknowledged anything.
        (200, .failure, DeliveryState(unacknowledged: 200, end: .reset), .perhapsRead),
        (200, .failure, DeliveryState(unacknowledged: 200, end: .open), .perhapsRead),
    ]

    @Test("How far a request has come is what is proved of it", arguments: reaches)
    func reach(sent: Int64, ending: Ending, delivery: DeliveryState?, reach: RequestReach) {
        #expect(RequestReach(bytesSent: sent, ending: ending, delivery: delivery) == reach)
    }

    private func isSentAgain(
        _ method: RequestMethod, _ reach: RequestReach, error: Int32? = nil,
        attempt: UnansweredRequest.Attempt = .first, reused: Bool = true
    ) -> Bool {
        UnansweredRequest(
            attempt: attempt, method: method, connectionWasReused: reused, reach: reach,
            error: error.map { SystemError(code: $0, operation: "recv") }
        ).mayBeSentAgain
    }

    static let methods: [RequestMethod] = [.get, .head, .options, .put, .delete, .post, .patch]
    private static let reached: [RequestReach] = [.unread, .perhapsRead, .onItsWay]

    @Test("What cannot have been read is sent again, and an idempotent request in any case", arguments: methods)
    func rule(method: RequestMethod) {
        let isIdempotent = ![.post, .patch].contains(method)
        for error in [nil, ECONNRESET, EPIPE] {
            #expect(isSentAgain(method, .unread, error: error))
            #expect(isSentAgain(method, .perhapsRead, error: error) == isIdempotent)
            #expect(isSentAgain(method, .onItsWay, error: error) == isIdempotent)
        }
    }

    @Test(
        "Nothing is sent a third time, or again after a new connection, or where the network is gone",
        arguments: methods)
    func exceptions(method: RequestMethod) {
        for reach in Self.reached {
            #expect(!isSentAgain(method, reach, attempt: .repeated(after: .truncated)))
            #expect(!isSentAgain(method, reach, reused: false))
            for error in [ETIMEDOUT, EHOSTUNREACH, ENETUNREACH] { #expect(!isSentAgain(method, reach, error: error)) }
        }
    }
}
