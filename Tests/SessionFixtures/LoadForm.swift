import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

/// The ways to load a URL.
enum LoadForm: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case dataDelegate = "data task, delegate"
    case dataHandler = "data task, handler"
    case dataAsync = "data, async"
    case downloadDelegate = "download task, delegate"
    case downloadHandler = "download task, handler"
    case downloadAsync = "download, async"

    var testDescription: String { rawValue }
}

/// The result of a load in any form.
struct Outcome: Sendable {
    var error: URLError?
    /// The body as far as the caller received it; nil without one.
    var body: Data?
    var response: HTTPURLResponse?
    /// The number of completions.
    var completions = 0
    /// The calls of the session's delegate, the invalidation last.
    var events: [Witness.Event] = []
    /// The partial files that are left after the session's invalidation.
    var partialNames: [String] = []
}

extension LoadForm {
    /// Loads `request` in its own session and waits until that session is invalid, so that no call can follow.
    func load(
        _ request: URLRequest, witness: Witness = Witness(), _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> Outcome {
        let sandbox = Sandbox()
        let session = sandbox.session(witness, change)
        var outcome = await load(request, in: session, witness)
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        outcome.events = witness.events
        outcome.completions += witness.completions
        outcome.partialNames = sandbox.partialNames
        return outcome
    }

    func load(_ url: URL, _ change: (URLSessionConfiguration) -> Void = { _ in }) async throws -> Outcome {
        try await load(URLRequest(url: url), change)
    }

    private func load(_ request: URLRequest, in session: URLSession, _ witness: Witness) async -> Outcome {
        switch self {
        case .dataDelegate:
            let task = session.dataTask(with: request).resumed()
            await witness.completion()
            return Outcome(
                error: Self.urlError(task.error), body: witness.data(of: task),
                response: task.response as? HTTPURLResponse)
        case .downloadDelegate:
            let task = session.downloadTask(with: request).resumed()
            await witness.completion()
            return Outcome(
                error: Self.urlError(task.error), body: witness.file(of: task),
                response: task.response as? HTTPURLResponse)
        case .dataHandler:
            return await handled { finish in
                session.dataTask(with: request) { data, response, error in finish(data, response, error) }
            }
        case .downloadHandler:
            return await handled { finish in
                session.downloadTask(with: request) { file, response, error in
                    finish(file.flatMap { try? Data(contentsOf: $0) }, response, error)
                }
            }
        case .dataAsync:
            return await awaited { try await session.data(for: request) }
        case .downloadAsync:
            return await awaited {
                let (file, response) = try await session.download(for: request)
                defer { try? FileManager.default.removeItem(at: file) }
                return (try Data(contentsOf: file), response)
            }
        }
    }

    private typealias Finish = @Sendable (Data?, URLResponse?, (any Error)?) -> Void

    private func handled(_ make: (@escaping Finish) -> URLSessionTask) async -> Outcome {
        let outcome = LockedValue(Outcome())
        await withCheckedContinuation { continuation in
            let task = make { body, response, error in
                let isFirst = outcome.withLock { outcome in
                    outcome.completions += 1
                    guard outcome.completions == 1 else { return false }
                    outcome.error = Self.urlError(error)
                    outcome.body = body
                    outcome.response = response as? HTTPURLResponse
                    return true
                }
                if isFirst { continuation.resume() }
            }
            task.resume()
        }
        return outcome.withLock { $0 }
    }

    private func awaited(_ load: () async throws -> (Data, URLResponse)) async -> Outcome {
        do {
            let (body, response) = try await load()
            return Outcome(body: body, response: response as? HTTPURLResponse, completions: 1)
        } catch {
            return Outcome(error: Self.urlError(error), completions: 1)
        }
    }

    /// Any other error becomes a `URLError` that no test expects.
    private static func urlError(_ error: (any Error)?) -> URLError? {
        error.map { $0 as? URLError ?? URLError(.unknown) }
    }
}

/// A value that several threads change.
final class LockedValue<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        value.withLock { value in body(&value) }
    }
}

extension Outcome {
    /// Expects that the load failed once, with this code, its URL and a reason.
    func expectFailure(_ code: URLError.Code, at url: URL?, _ sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
        #expect(error?.failingURL == url, sourceLocation: sourceLocation)
        #expect(error.map(Self.isSentence) == true, "\(sentence)", sourceLocation: sourceLocation)
        #expect(completions == 1, sourceLocation: sourceLocation)
        #expect(partialNames == [], sourceLocation: sourceLocation)
    }

    /// Expects that the load succeeded once, with this body.
    func expectSuccess(_ expected: Data, _ sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(error == nil, sourceLocation: sourceLocation)
        #expect(body?.isSame(as: expected) == true, sourceLocation: sourceLocation)
        #expect(completions == 1, sourceLocation: sourceLocation)
        #expect(partialNames == [], sourceLocation: sourceLocation)
    }

    /// The error's description.
    var sentence: String { error?.failureSentence ?? "" }

    /// Whether the description is a sentence, and not Foundation's fallback.
    private static func isSentence(_ error: URLError) -> Bool {
        let text = error.failureSentence
        return text.count > 10 && text.hasSuffix(".") && !text.contains("could not be completed")
    }
}

extension Data {
    /// Equality whose failure does not print both bodies, which would take hours for long ones.
    func isSame(as other: Data) -> Bool { self == other }
}
