import Foundation
import PurlHTTP
import PurlIO
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("TransferFailure as URLError")
struct FailureMappingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let failure: TransferFailure
        let code: URLError.Code

        init(_ name: String, _ failure: TransferFailure, _ code: URLError.Code) {
            testDescription = name
            self.failure = failure
            self.code = code
        }
    }

    private static func refused(_ codes: Int32...) -> TransferFailure {
        .dial(
            .connect(
                codes.map { code in
                    ConnectFailure(address: .loopback(port: 80), error: SystemError(code: code, operation: "connect"))
                }))
    }

    static let rows: [Row] = [
        Row("no such name", .dial(.resolve(.noSuchName(host: "x.invalid"))), .cannotFindHost),
        Row(
            "resolver down", .dial(.resolve(.failed(host: "a.example", code: -3, reason: "try again"))),
            .dnsLookupFailed),
        Row("refused", refused(ECONNREFUSED), .cannotConnectToHost),
        Row("connecting took too long for the system", refused(ETIMEDOUT), .cannotConnectToHost),
        Row("host unreachable", refused(EHOSTUNREACH), .cannotConnectToHost),
        Row("not allowed", refused(EACCES), .cannotConnectToHost),
        Row("no route", refused(ENETUNREACH), .notConnectedToInternet),
        Row("network down", refused(ENETDOWN), .notConnectedToInternet),
        Row("no route by either family", refused(ENETUNREACH, ENETUNREACH), .notConnectedToInternet),
        Row("no route by one family, refused by the other", refused(ENETUNREACH, ECONNREFUSED), .cannotConnectToHost),
        Row("nothing was tried", refused(), .cannotConnectToHost),
        Row("no progress", .stalled(seconds: 60), .timedOut),
        Row("all time used", .tookTooLong(seconds: 604_800), .timedOut),
        Row("closed before the response", .exchange(.closedBeforeResponse(nil, .perhapsRead)), .networkConnectionLost),
        Row(
            "reset in the response",
            .exchange(.closedDuringResponse(SystemError(code: ECONNRESET, operation: "recv"))), .networkConnectionLost),
        Row("end of stream in the body", .exchange(.malformed(.prematureEnd)), .networkConnectionLost),
        Row("too little body", .incomplete(received: 5, total: 6), .networkConnectionLost),
        Row("broken head", .exchange(.malformed(.spaceBeforeColon)), .badServerResponse),
        Row("message's end in doubt", .exchange(.malformed(.conflictingContentLengths)), .badServerResponse),
        Row("unrequested switch of protocols", .exchange(.unaskedUpgrade), .badServerResponse),
        Row("too many interim responses", .exchange(.tooManyInterimResponses), .badServerResponse),
        Row("an unrequested part", .unaskedPartialContent, .badServerResponse),
        Row("head too large", .exchange(.malformed(.headTooLarge)), .cannotParseResponse),
        Row("too many fields", .exchange(.malformed(.tooManyFields)), .cannotParseResponse),
        Row("trailers too large", .exchange(.malformed(.trailersTooLarge)), .cannotParseResponse),
        Row("broken chunk", .exchange(.malformed(.invalidChunkSize)), .cannotDecodeRawData),
        Row("broken resume data", .unreadableResumeData("no property list"), .cannotDecodeRawData),
        Row("https", .url(.secureScheme("https")), .unsupportedURL),
        Row("another scheme", .url(.unknownScheme("ftp")), .unsupportedURL),
        Row("no URL", .url(.noURL), .unsupportedURL),
        Row("no host", .url(.noHost), .badURL),
        Row("bad port", .url(.badAuthority), .badURL),
        Row("a request that cannot be written", .request(.invalidMethod), .badURL),
        Row("too many redirects", .tooManyRedirects(limit: 20), .httpTooManyRedirects),
        Row("too slow", .tooSlow(bytesPerSecond: 1, interval: 1), .timedOut),
        Row("a body too large to collect", .oversizedBody(limit: 5), .dataLengthExceedsMaximum),
        Row("redirect to nowhere", .redirect(.toNowhere("")), .redirectToNonExistentLocation),
        Row("not in the cache", .notCached, .resourceUnavailable),
        Row("cancelled", .cancelled, .cancelled),
        Row("invalid session", .sessionInvalidated, .cancelled),
    ]

    @Test("Each failure has its URLError code, its URL, Foundation's sentence and a reason", arguments: rows)
    func mapping(row: Row) throws {
        let url = try #require(URL(string: "http://a.example/file"))
        let error = row.failure.urlError(for: url)
        #expect(error.code == row.code)
        #expect(error.failingURL == url)
        #expect(error.localizedDescription == row.code.sentence)
        let reason = try #require((error as NSError).localizedFailureReason)
        #expect(reason.hasSuffix("."))
        #expect(error.failureSentence == reason)
        #expect("\(error)".contains("\"\(reason)\""))
        #expect((error as any Error).localizedDescription == (error as NSError).localizedDescription)
        #expect(error.downloadTaskResumeData == nil)
        #expect((error as NSError).domain == NSURLErrorDomain)
    }

    @Test(
        "localizedDescription is Foundation's sentence for the code",
        arguments: [
            (.cancelled, "cancelled"), (.timedOut, "The request timed out."), (.badURL, "bad URL"),
            (.unsupportedURL, "unsupported URL"),
            (.cannotFindHost, "A server with the specified hostname could not be found."),
            (.cannotConnectToHost, "Could not connect to the server."),
            (.networkConnectionLost, "The network connection was lost."),
            (.notConnectedToInternet, "The Internet connection appears to be offline."),
            (.badServerResponse, "There was a bad response from the server."),
            (.httpTooManyRedirects, "too many HTTP redirects"), (.cannotDecodeRawData, "cannot decode raw data"),
            (.fileDoesNotExist, "The requested URL was not found on this server."),
            (.userAuthenticationRequired, "The operation couldn’t be completed. (NSURLErrorDomain error -1013.)"),
        ] as [(URLError.Code, String)])
    func description(code: URLError.Code, sentence: String) {
        let error = URLError(code, reason: "It went wrong.")
        #expect(error.localizedDescription == sentence)
        #expect((error as NSError).localizedDescription == sentence)
        #expect((error as NSError).localizedFailureReason == "It went wrong.")
        #expect(error.failureSentence == "It went wrong.")
    }

    static let reasons: [(text: String, line: String)] = [
        ("It went wrong.", "It went wrong."),
        ("Two\r\nlines\u{2028}and\u{0}NUL.", "Two  lines and NUL."),
        (String(repeating: "x", count: 1_000), String(repeating: "x", count: 1_000)),
        (String(repeating: "é", count: 1_000), String(repeating: "é", count: 1_000)),
        (String(repeating: "x", count: 1_001), String(repeating: "x", count: 999) + "…"),
        ("e" + String(repeating: "\u{301}", count: 5_000), "e" + String(repeating: "\u{301}", count: 998) + "…"),
    ]

    @Test("A reason is one line of at most 1,000 characters", arguments: reasons)
    func length(text: String, line: String) {
        let error = URLError(.badServerResponse, reason: text) as NSError
        #expect(error.localizedFailureReason == line)
    }

    @Test("Every code of the URL loading system has a sentence, except those without one on Apple's systems")
    func allCodes() {
        let codes = Array(-3007...(-995)).compactMap(URLError.Code.init(rawValue:)) + [.unknown]
        let without: Set<URLError.Code> = [
            .userCancelledAuthentication, .userAuthenticationRequired, .backgroundSessionRequiresSharedContainer,
        ]
        #expect(codes.count > 40)
        for code in codes {
            #expect(
                code.sentence.hasPrefix("The operation couldn’t be completed.") == without.contains(code), "\(code)")
        }
    }

    @Test(
        "A file that cannot be read has the code of the reason",
        arguments: [
            (ENOENT, .fileDoesNotExist), (ENOTDIR, .fileDoesNotExist), (EISDIR, .fileIsDirectory),
            (EACCES, .noPermissionsToReadFile), (EPERM, .noPermissionsToReadFile), (EIO, .cannotOpenFile),
        ] as [(Int32, URLError.Code)])
    func reading(number: Int32, code: URLError.Code) throws {
        let url = URL(fileURLWithPath: "/a/file")
        let failure = FileFailure(.read, url, SystemError(code: number, operation: "open"))
        let error = TransferFailure.file(failure).urlError(for: url)
        #expect(error.code == code)
        #expect((error.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == Int(number))
        #expect(error.failureSentence.hasPrefix("/a/file could not be read: "))
    }

    @Test("Resume data is in the error's userInfo for every failure", arguments: rows)
    func resumeData(row: Row) throws {
        let data = Data("resume".utf8)
        let error = row.failure.urlError(for: nil, resumeData: .download(data))
        #expect(error.downloadTaskResumeData == data && error.uploadTaskResumeData == nil)
        #expect(error.userInfo[NSURLSessionDownloadTaskResumeData] as? Data == data)
        #expect(error.failingURL == nil)
        let upload = row.failure.urlError(for: nil, resumeData: .upload(data))
        #expect(upload.uploadTaskResumeData == data && upload.downloadTaskResumeData == nil)
        #expect(upload.userInfo[NSURLSessionUploadTaskResumeData] as? Data == data)
    }

    @Test("The system's error is the underlying error", arguments: [ECONNREFUSED, ENETUNREACH, EHOSTUNREACH])
    func underlying(code: Int32) throws {
        let error = Self.refused(ETIMEDOUT, code).urlError(for: nil)
        let underlying = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(underlying.domain == NSPOSIXErrorDomain)
        #expect(underlying.code == Int(code))
        #expect(!underlying.localizedDescription.isEmpty)
    }

    @Test("The reason names the time-out", arguments: [(60.0, "60 seconds"), (1, "1 second."), (0.25, "0.25 seconds")])
    func seconds(limit: TimeInterval, text: String) {
        #expect(TransferFailure.stalled(seconds: limit).urlError(for: nil).failureSentence.contains(text))
        #expect(TransferFailure.tookTooLong(seconds: limit).urlError(for: nil).code == .timedOut)
    }
}
