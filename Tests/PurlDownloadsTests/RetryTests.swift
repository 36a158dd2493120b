import Foundation
import Purl
import PurlHTTP
import PurlTesting
import Testing

@testable import PurlDownloads

@Suite("The retry policy")
struct RetryPolicyTests {
    private let lost = URLError(.networkConnectionLost)

    private func response(_ status: Int, _ retryAfter: String? = nil) throws -> HTTPURLResponse {
        let url = try #require(URL(string: "http://example.org/"))
        let fields = retryAfter.map { ["Retry-After": $0] } ?? [:]
        return try #require(
            HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
    }

    @Test("The delay doubles up to its maximum, and ends with the retries")
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

    @Test("Out-of-range settings yield valid delays", arguments: [Double.nan, .infinity, -1, 0, 1e300])
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

    @Test("Only transient errors are retried", arguments: failures)
    func codes(code: URLError.Code, isTransient: Bool) {
        let delay = RetryPolicy().delay(afterFailures: 1, error: URLError(code), response: nil)
        #expect((delay != nil) == isTransient)
    }

    @Test(
        "A proxy that refuses is not asked again, unless the reason lies in the network behind it",
        arguments: [
            (SOCKSFailure.refused(.notAllowed), false), (.loginRefused, false), (.refused(.hostUnreachable), true),
        ])
    func proxies(failure: SOCKSFailure, isTransient: Bool) {
        let error = URLError(.cannotConnectToHost, userInfo: [NSUnderlyingErrorKey: failure])
        #expect((RetryPolicy().delay(afterFailures: 1, error: error, response: nil) != nil) == isTransient)
    }

    @Test("Transient statuses are retried", arguments: [408, 429, 500, 502, 503, 504])
    func transientStatus(status: Int) throws {
        let error = URLError(.badServerResponse)
        #expect(RetryPolicy().delay(afterFailures: 1, error: error, response: try response(status)) != nil)
    }

    @Test("Other statuses are not retried", arguments: [204, 304, 400, 401, 403, 404, 410, 416, 501, 505])
    func lastingStatus(status: Int) throws {
        let error = URLError(.badServerResponse)
        #expect(RetryPolicy().delay(afterFailures: 1, error: error, response: try response(status)) == nil)
    }

    @Test("Retry-After lengthens the delay, also beyond the maximum, up to an hour")
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

@Suite("Retrying", .timeLimit(.minutes(3)))
struct RetryTests {
    let fixture: DownloadFixture
    let content = GeneratedContent(size: 50_000, seed: 5)

    init() throws { fixture = try DownloadFixture() }

    private var reply: Reply { .generated(content).entityTag("\"v1\"") }

    @Test("A 503 response is retried")
    func busy() async throws {
        let busy = Reply.text("Later.").status(503).field("Retry-After", "0")
        let downloader = fixture.downloader(fixture.server.route("/f", .sequence([busy, busy, reply])))
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(fixture.server.requests.count == 3)
    }

    @Test("A Retry-After of more than an hour is not retried")
    func tooLong() async throws {
        let busy = Reply.text("Later.").status(503).field("Retry-After", "7200")
        let downloader = fixture.downloader(fixture.server.route("/f", busy))
        downloader.start()
        #expect(await downloader.failure()?.httpStatusCode == 503)
        #expect(fixture.server.requests.count == 1)
    }

    @Test("Without progress the retries are used up")
    func noProgress() async throws {
        let downloader = fixture.downloader(fixture.server.route("/f", reply.cut(at: .beforeHead)), retries: 2)
        downloader.start()
        #expect(await downloader.failure()?.code == .networkConnectionLost)
        #expect(fixture.server.requests.count == 3)
    }

    @Test("Progress resets the count of retries")
    func progress() async throws {
        let downloader = fixture.downloader(
            fixture.server.route("/f", reply.cut(afterBytes: 5000, times: 9)), retries: 1)
        downloader.start()
        #expect(try content.matches(fileAt: try await downloader.file()))
        #expect(fixture.server.requests.count == 10)
    }

    @Test("Reaching the same byte again is not progress")
    func samePlace() async throws {
        let url = fixture.server.route("/f", reply.ignoringRange().cut(afterBytes: 5000))
        let downloader = fixture.downloader(url, retries: 2)
        downloader.start()
        #expect(await downloader.failure()?.code == .networkConnectionLost)
        // Each retry asks with If-Match once more, since the tag is the same.
        #expect(fixture.server.requests.count == 5)
    }

    @Test("A download that waits for its next attempt frees its slot")
    func placeIsFree() async throws {
        let busy = Reply.text("Later.").status(503).field("Retry-After", "3000")
        let manager = fixture.manager(limit: 1)
        let first = manager.download(fixture.server.route("/busy", busy))
        let second = manager.download(fixture.server.route("/f", reply))
        #expect(try content.matches(fileAt: try await second.file()))
        #expect(first.state.kind == .waiting)
        manager.invalidate()
        #expect(await first.failure()?.code == .cancelled)
    }

    @Test(
        "Pausing, cancelling and starting end the delay",
        arguments: ["pause", "cancel", "start"])
    func cutShort(how: String) async throws {
        let busy = Reply.text("Later.").status(503).field("Retry-After", "3000")
        let url = fixture.server.route("/f", busy.switching(after: 1, to: reply))
        let manager = fixture.manager()
        let downloader = manager.download(url)
        await fixture.server.waitForRequests(1)
        // Without an attempt the delay has begun.
        await downloader.waitUntilIdle()
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
        #expect(fixture.server.requests.count == 2)
    }
}
