import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

/// A server that takes uploads which resume, a content, and a file with it.
struct ResumableSite: Sendable {
    static let path = "/files"

    let content: GeneratedContent
    let server: LoopbackServer
    let target: UploadTarget
    let sandbox: Sandbox
    let file: URL

    init(_ target: UploadTarget = UploadTarget(reply: .text("done").status(201)), size: Int = 1 << 20) throws {
        content = GeneratedContent(size: size, seed: 18)
        server = try LoopbackServer()
        self.target = target
        sandbox = Sandbox()
        file = sandbox.file("upload")
        try content.data.write(to: file)
        server.route(Self.path, .upload(to: target))
    }

    var url: URL { server.url(Self.path) }

    func request(_ fields: [String: String] = [:]) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }

    /// A session whose uploads ask for resumption, unless `change` changes that.
    func session(
        _ delegate: (any URLSessionDelegate)? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        sandbox.session(delegate) { configuration in
            configuration.resumableUploads = .always
            change(configuration)
        }
    }

    /// Uploads the file, with the `async` form.
    func upload(
        _ fields: [String: String] = [:], _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> (body: String, response: HTTPURLResponse) {
        let session = session(nil, change)
        defer { session.finishTasksAndInvalidate() }
        let (body, response) = try await session.upload(for: request(fields), fromFile: file)
        return (String(decoding: body, as: UTF8.self), try #require(response as? HTTPURLResponse))
    }

    /// The error of an upload of the file.
    func failure(_ change: (URLSessionConfiguration) -> Void = { _ in }) async -> URLError? {
        do {
            let (body, response) = try await upload([:], change)
            Issue.record("\(response.statusCode): \(body)")
            return nil
        } catch {
            return error as? URLError
        }
    }

    /// The methods of the requests so far.
    var methods: [String] { server.requests.map(\.method) }

    /// Whether the only upload has arrived as it is, and no byte of it twice.
    func expectWhole(_ location: SourceLocation = #_sourceLocation) {
        #expect(target.uploads.map(\.state) == [.complete], sourceLocation: location)
        #expect(target.uploads.first.map { content.matches($0.content) } == true, sourceLocation: location)
        #expect(target.uploads.first?.hasRepeatedContent == false, sourceLocation: location)
        #expect(target.acceptedBytes == content.size, sourceLocation: location)
    }
}

/// A delegate that supplies the streams of an upload, and records what is asked of it.
final class UploadWitness: NSObject, RecordingDelegate, URLSessionDataDelegate, Sendable {
    enum Event: DelegateCall {
        case neededStream
        case neededStreamFrom(Int64)
        case restarted(String?)
        case sent(Int64, of: Int64)
        case interim(Int)
        case completed(URLError.Code?)

        var isCompletion: Bool { if case .completed = self { true } else { false } }
    }

    let record = CallRecord<Event>()
    private let whole: @Sendable () -> InputStream?
    private let rest: @Sendable (Int64) -> InputStream?
    private let sent: @Sendable (URLSessionTask, Int64) -> Void

    init(
        whole: @escaping @Sendable () -> InputStream? = { nil },
        rest: @escaping @Sendable (Int64) -> InputStream? = { _ in nil },
        sent: @escaping @Sendable (URLSessionTask, Int64) -> Void = { _, _ in }
    ) {
        self.whole = whole
        self.rest = rest
        self.sent = sent
    }

    /// The events but the counts of bytes.
    var questions: [Event] { events.filter { if case .sent = $0 { false } else { true } } }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        record.append(.neededStream)
        completionHandler(whole())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        record.append(.neededStreamFrom(offset))
        completionHandler(rest(offset))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, willRestartUploadBecause reason: any Error) {
        record.append(.restarted((reason as? URLError)?.localizedFailureReasonText))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        record.append(.interim(response.statusCode))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        record.append(.sent(totalBytesSent, of: totalBytesExpectedToSend)) { last in
            if case .sent = last { .sent(totalBytesSent, of: totalBytesExpectedToSend) } else { nil }
        }
        sent(task, totalBytesSent)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        record.complete(task, error)
    }
}

extension URLSession {
    /// Returns when the delegate queue has made the calls that it holds now.
    func delegateQueueHasMadeItsCalls() async {
        await withCheckedContinuation { continuation in delegateQueue.addOperation { continuation.resume() } }
    }
}

extension URLError {
    /// The sentence that states what happened.
    var localizedFailureReasonText: String? { userInfo[NSLocalizedFailureReasonErrorKey] as? String }
}
