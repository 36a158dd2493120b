import Foundation
import Purl
import PurlTesting
import Testing

/// A download that was cancelled in the middle: its partial file is in the sandbox, and `blob` is its resume data.
struct PausedDownload {
    static let tag = "\"v1\""
    static let path = "/file"

    let server: LoopbackServer
    let sandbox: Sandbox
    let content: GeneratedContent
    /// The number of bytes in the partial file.
    let received: Int
    /// The resume data.
    let blob: Data

    /// Downloads the first `received` bytes of `content`; the server's list of requests is empty afterwards.
    ///
    /// - Parameter reply: Changes the server's response, which has a strong entity tag.
    init(
        of content: GeneratedContent = GeneratedContent(size: 300_000, seed: 3), at received: Int = 100_000,
        from server: LoopbackServer? = nil, in sandbox: Sandbox? = nil,
        reply: (Reply) -> Reply = { $0.entityTag(PausedDownload.tag) },
        request: (URL) -> URLRequest = { URLRequest(url: $0) }
    ) async throws {
        let blob = try await Self.attempt(
            content, received, server ?? LoopbackServer(), sandbox ?? Sandbox(), reply, request)
        (self.server, self.sandbox) = (blob.server, blob.sandbox)
        self.content = content
        self.received = received
        self.blob = try #require(blob.data)
        self.server.forgetRequests()
    }

    /// The result of `cancelByProducingResumeData` in the middle of such a response.
    static func resumeData(
        at received: Int = 100_000, reply: (Reply) -> Reply, request: (URL) -> URLRequest = { URLRequest(url: $0) }
    ) async throws -> (data: Data?, partialNames: [String]) {
        let content = GeneratedContent(size: 300_000, seed: 3)
        let attempt = try await attempt(content, received, LoopbackServer(), Sandbox(), reply, request)
        return (attempt.data, attempt.sandbox.partialNames)
    }

    private static func attempt(
        _ content: GeneratedContent, _ received: Int, _ server: LoopbackServer, _ sandbox: Sandbox,
        _ reply: (Reply) -> Reply, _ request: (URL) -> URLRequest
    ) async throws -> (server: LoopbackServer, sandbox: Sandbox, data: Data?) {
        let url = server.route(path, reply(.generated(content)).stalled(afterBytes: received))
        let witness = Witness()
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: request(url)).resumed()
        await witness.wait { events in
            if case .wrote(Int64(received), _) = events.last { true } else { false }
        }
        let data = await task.cancelByProducingResumeData()
        await witness.completion()
        #expect(witness.error(of: task)?.code == .cancelled)
        #expect(witness.error(of: task)?.downloadTaskResumeData == data)
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        return (server, sandbox, data)
    }

    /// Sets the server's response to the request for the rest.
    func answer(_ reply: Reply) {
        server.route(Self.path, reply)
    }

    /// The unchanged resource under the same tag.
    var sameResource: Reply { .generated(content).entityTag(Self.tag) }

    /// The only partial file.
    var partial: URL {
        get throws { sandbox.partials.appendingPathComponent(try #require(sandbox.partialNames.first)) }
    }

    /// Resumes in a new session, and returns the outcome.
    func resume(_ blob: Data? = nil) async -> Outcome {
        let witness = Witness()
        let session = sandbox.session(witness)
        let task = session.downloadTask(withResumeData: blob ?? self.blob)
        task.resume()
        await witness.completion()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        return Outcome(
            events: witness.events.filter { $0 != .invalid }, file: witness.file(of: task),
            error: witness.error(of: task))
    }

    /// The calls that a delegate received about one task.
    struct Outcome {
        let events: [Witness.Event]
        let file: Data?
        let error: URLError?

        /// The offsets of `didResumeAtOffset`.
        var resumedAt: [Int64] {
            events.compactMap { if case .resumed(let offset, _) = $0 { offset } else { nil } }
        }
    }

    /// The `Range` fields of the requests since the pause.
    var ranges: [String?] { server.requests.map { $0.fields["Range"] } }
}

/// Expects what every error has: a code, its URL, and a description.
func expectError(
    _ error: (any Error)?, _ code: URLError.Code, about url: URL?, sourceLocation: SourceLocation = #_sourceLocation
) {
    let error = error as? URLError
    #expect(error?.code == code, sourceLocation: sourceLocation)
    #expect(error?.failingURL == url, sourceLocation: sourceLocation)
    #expect(error?.failureSentence.isEmpty == false, sourceLocation: sourceLocation)
}

/// The POSIX error at the bottom of an error.
func posixCode(_ error: (any Error)?) -> Int? {
    guard let error = error.map({ $0 as NSError }) else { return nil }
    if error.domain == NSPOSIXErrorDomain { return error.code }
    return posixCode(error.userInfo[NSUnderlyingErrorKey] as? any Error)
}
