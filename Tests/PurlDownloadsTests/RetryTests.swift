import Foundation
import Purl
import PurlTesting
import Testing

@testable import PurlDownloads

@Suite("When a transfer is tried again")
struct RetryPolicyTests {
    private let lost = URLError(.networkConnectionLost)

    private func response(_ status: Int, _ retryAfter: String? = nil) throws -> HTTPURLResponse {
        let url = try #require(URL(string: "http://example.org/"))
        let fields = retryAfter.map { ["Retry-After": $0] } ?? [:]
        return try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
    }

    @Test("The wait doubles up to its maximum, a tenth more or less, and then there is none")
    func growth() throws {
        var policy = RetryPolicy()
        policy.maximumRetries = 8
        for (failures, seconds) in zip(1..., [1, 2, 4, 8, 16, 32, 60, 60]) {
            let delay = try #require(policy.delay(afterFailures: failures, error: lost, response: nil))
            #expect(delay >= .seconds(seconds))
            #expect(delay <= min(.seconds(seconds) * 1.1, .seconds(60)))
        }
        #expect(policy.delay(afterFailures: 9, error: lost, response: nil) == nil)
        #expect(policy.delay(afterFailures: 0, error: lost, response: nil) == nil)
        #expect(RetryPolicy.never.delay(afterFailures: 1, error: lost, response: nil) == nil)
    }

    @Test("Numbers that mean nothing do no harm", arguments: [Double.nan, .infinity, -1, 0, 1e300])
    func oddNumbers(multiplier: Double) throws {
        var policy = RetryPolicy()
        policy.maximumRetries = .max
        policy.multiplier = multiplier
        #expect(policy.delay(afterFailures: .max, error: lost, response: nil) != nil)
        policy.initialDelay = .seconds(-1)
        #expect(policy.delay(afterFailures: 5, error: lost, response: nil) == .zero)
        policy.maximumDelay = .seconds(-5)
        #expect(policy.delay(afterFailures: 5, error: lost, response: nil) == .zero)
    }

    static let failures: [(URLError.Code, Bool)] = [
        (.networkConnectionLost, true), (.timedOut, true), (.cannotConnectToHost, true),
        (.notConnectedToInternet, true), (.dnsLookupFailed, true), (.cannotFindHost, false), (.cancelled, false),
        (.unsupportedURL, false), (.cannotWriteToFile, false), (.badServerResponse, false), (.cannotOpenFile, false),
    ]

    @Test("Transient failures are those another try may not meet", arguments: failures)
    func codes(code: URLError.Code, isTransient: Bool) {
        let delay = RetryPolicy().delay(afterFailures: 1, error: URLError(code), response: nil)
        #expect((delay != nil) == isTransient)
    }

    @Test("Some statuses pass", arguments: [408, 429, 500, 502, 503, 504])
    func transientStatus(status: Int) throws {
        let error = URLError(.badServerResponse)
        #expect(RetryPolicy().delay(afterFailures: 1, error: error, response: try response(status)) != nil)
    }

    @Test("Others do not", arguments: [204, 304, 400, 401, 403, 404, 410, 416, 501, 505])
    func lastingStatus(status: Int) throws {
        let error = URLError(.badServerResponse)
        #expect(RetryPolicy().delay(afterFailures: 1, error: error, response: try response(status)) == nil)
    }

    @Test("Retry-After makes the wait longer, beyond the maximum too, but not beyond an hour")
    func retryAfter() throws {
        let error = URLError(.badServerResponse)
        func delay(_ text: String) throws -> Duration? {
            RetryPolicy().delay(afterFailures: 1, error: error, response: try response(503, text))
        }
        #expect(try delay("120") == .seconds(120))
        #expect(try delay("3600") == .seconds(3600))
        #expect(try delay("3601") == nil)
        #expect(try delay("99999999999999999999999") == nil)
        #expect(try delay("Fri, 31 Dec 2100 23:59:59 GMT") == nil)
        for text in ["0", "soon", "", "-5", "1.5", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            let delay = try #require(try delay(text))
            #expect(delay >= .seconds(1) && delay <= .seconds(1.1))
        }
    }

    @Test("Retry-After as a date counts from now")
    func retryAfterDate() throws {
        let now = Date(timeIntervalSince1970: 784_111_777 - 90)
        #expect(try #require(RetryAfter("Sun, 06 Nov 1994 08:49:37 GMT", now: now)).delay == .seconds(90))
    }
}

@Suite("Trying again", .timeLimit(.minutes(3)))
struct RetryTests {
    let yard: Yard
    let content = GeneratedContent(size: 50_000, seed: 5)

    init() throws { yard = try Yard() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    @Test("A server that is busy is asked again")
    func busy() async throws {
        let busy = Reply.text("Later.").status(503).field("Retry-After", "0")
        let downloader = yard.downloader(yard.server.route("/f", .sequence([busy, busy, reply])))
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(yard.server.requests.count == 3)
    }

    @Test("A server that wants more than an hour is not asked again")
    func tooLong() async throws {
        let busy = Reply.text("Later.").status(503).field("Retry-After", "7200")
        let downloader = yard.downloader(yard.server.route("/f", busy))
        downloader.start()
        #expect(await downloader.failure()?.httpStatusCode == 503)
        #expect(yard.server.requests.count == 1)
    }

    @Test("Without progress the tries are used up")
    func noProgress() async throws {
        let downloader = yard.downloader(yard.server.route("/f", reply.cut(at: .beforeHead)), retries: 2)
        downloader.start()
        #expect(await downloader.failure()?.code == .networkConnectionLost)
        #expect(yard.server.requests.count == 3)
    }

    @Test("Every byte of progress begins the count anew")
    func progress() async throws {
        let downloader = yard.downloader(yard.server.route("/f", reply.cut(afterBytes: 5000, times: 9)), retries: 1)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(yard.server.requests.count == 10)
    }

    @Test("Coming to the same place again and again is no progress")
    func samePlace() async throws {
        let url = yard.server.route("/f", reply.ignoringRange().cut(afterBytes: 5000))
        let downloader = yard.downloader(url, retries: 2)
        downloader.start()
        #expect(await downloader.failure()?.code == .networkConnectionLost)
        #expect(yard.server.requests.count == 3)
    }

    @Test("A download that waits for its next try leaves its place to others")
    func placeIsFree() async throws {
        let busy = Reply.text("Later.").status(503).field("Retry-After", "3000")
        let manager = yard.manager(limit: 1)
        let first = manager.download(yard.server.route("/busy", busy))
        let second = manager.download(yard.server.route("/f", reply))
        #expect(try content.matches(fileAt: try await second.file()))
        #expect(first.state.kind == .waiting)
        manager.invalidate()
        #expect(await first.failure()?.code == .cancelled)
    }

    @Test(
        "The wait can be cut short: by pausing, by cancelling, by asking again",
        arguments: ["pause", "cancel", "start"])
    func cutShort(how: String) async throws {
        let busy = Reply.text("Later.").status(503).field("Retry-After", "3000")
        let url = yard.server.route("/f", busy.switching(after: 1, to: reply))
        let manager = yard.manager()
        let downloader = manager.download(url)
        await yard.server.waitForRequests(1)
        // No attempt left: the wait has begun.
        await manager.waitUntilIdle()
        #expect(downloader.state.kind == .waiting)
        switch how {
        case "pause":
            downloader.pause()
            #expect(downloader.state.kind == .paused)
            downloader.resume()
        case "cancel":
            downloader.cancel()
            #expect(downloader.state.kind == .failed)
            downloader.start()
        default:
            downloader.start()
        }
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(yard.server.requests.count == 2)
    }
}
