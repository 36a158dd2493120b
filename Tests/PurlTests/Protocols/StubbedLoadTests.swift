import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Loads by a URLProtocol", .timeLimit(.minutes(5)))
struct StubbedLoadTests {
    private let sandbox = Sandbox()

    @Test("A stub loads in every form", arguments: LoadForm.allCases)
    func forms(form: LoadForm) async throws {
        let url = try Stub.url("content", ["Content-Type": "text/plain; charset=utf-8", "Content-Length": "7"])
        let outcome = try await form.load(url) { $0.stub() }
        outcome.expectSuccess(Data("content".utf8))
        #expect(outcome.response?.statusCode == 200)
        #expect(outcome.response?.mimeType == "text/plain")
        #expect(outcome.response?.url == url)
    }

    @Test("A stub's status is delivered and not interpreted", arguments: [204, 302, 401, 404, 500])
    func statuses(status: Int) async throws {
        let url = try Stub.url("content", status: status, ["Location": "/other", "WWW-Authenticate": "Basic realm=a"])
        let witness = ProtectedResource.witness()
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness) { $0.stub() }
        outcome.expectSuccess(Data("content".utf8))
        #expect(outcome.response?.statusCode == status)
        #expect(witness.events == [.response(status), .data(7), .completed(nil), .invalid])
    }

    @Test("A stub may deliver its body in pieces from any thread", arguments: LoadForm.allCases)
    func pieces(form: LoadForm) async throws {
        let piece = String(repeating: "x", count: 100_000)
        let url = try Stub.url { stub in
            let call = Handover(stub)
            Thread.detachNewThread {
                call.stub.respond()
                for _ in 0..<40 { call.stub.send(piece) }
                call.stub.finish()
            }
        }
        let outcome = try await form.load(url) { $0.stub() }
        outcome.expectSuccess(Data(repeating: UInt8(ascii: "x"), count: 4_000_000))
    }

    @Test("A stub's error of any type is the task's error")
    func errors() async throws {
        struct Own: Error, Equatable { let number: Int }
        let url = try Stub.url { $0.fail(Own(number: 5)) }
        let session = sandbox.session { $0.stub() }
        await #expect(throws: Own(number: 5)) { try await session.data(from: url) }
        await #expect(throws: Own(number: 5)) { try await session.download(from: url) }
        let failed = await withCheckedContinuation { continuation in
            session.dataTask(with: url) { data, response, error in
                continuation.resume(returning: data == nil && response == nil && error as? Own == Own(number: 5))
            }.resume()
        }
        #expect(failed)
    }

    @Test("A stub's URLError is delivered unchanged", arguments: LoadForm.allCases)
    func urlErrors(form: LoadForm) async throws {
        let url = try Stub.url { stub in
            stub.respond()
            stub.send("con")
            stub.fail(URLError(.notConnectedToInternet, userInfo: ["own": 1]))
        }
        let outcome = try await form.load(url) { $0.stub() }
        #expect(outcome.error?.code == .notConnectedToInternet)
        #expect(outcome.error?.userInfo["own"] as? Int == 1)
        #expect(outcome.completions == 1)
        #expect(outcome.partialNames == [])
    }

    @Test("A stub may finish without a response", arguments: LoadForm.allCases)
    func noResponse(form: LoadForm) async throws {
        let url = try Stub.url { stub in
            stub.send("content")
            stub.finish()
        }
        try await form.load(url) { $0.stub() }.expectSuccess(Data("content".utf8))
    }

    @Test("A stub may have a response that is not HTTP", arguments: LoadForm.allCases)
    func otherResponse(form: LoadForm) async throws {
        let url = try Stub.url { stub in
            let response = URLResponse(
                url: stub.request.url ?? URL(fileURLWithPath: "/"), mimeType: "text/x", expectedContentLength: 7,
                textEncodingName: nil)
            stub.client?.urlProtocol(stub, didReceive: response, cacheStoragePolicy: .notAllowed)
            stub.send("content")
            stub.finish()
        }
        let outcome = try await form.load(url) { $0.stub() }
        outcome.expectSuccess(Data("content".utf8))
        #expect(outcome.response == nil)
    }

    @Test("A stub loads a scheme of its own", arguments: LoadForm.allCases)
    func scheme(form: LoadForm) async throws {
        let known = try Stub.url("content")
        let url = try #require(URL(string: known.absoluteString.replacingOccurrences(of: "http:", with: "own:")))
        try await form.load(url) { $0.stub() }.expectSuccess(Data("content".utf8))
    }

    @Test("Calls of a stub after its end are ignored")
    func afterEnd() async throws {
        let url = try Stub.url { stub in
            stub.respond()
            stub.respond(500)
            stub.send("content")
            stub.finish()
            stub.send("more")
            stub.fail(URLError(.badURL))
            stub.finish()
        }
        let outcome = try await LoadForm.dataDelegate.load(url) { $0.stub() }
        outcome.expectSuccess(Data("content".utf8))
        #expect(outcome.response?.statusCode == 200)
    }

    @Test("stopLoading is called once for each load", arguments: LoadForm.allCases)
    func stopping(form: LoadForm) async throws {
        let url = try Stub.url("content")
        _ = try await form.load(url) { $0.stub() }
        // The protocol's calls may come later than the task's end.
        await Stub.wait(for: 2, url)
        #expect(Stub.calls(url) == ["start", "stop"])
    }

    @Test("Cancelling the task calls stopLoading", arguments: [true, false])
    func cancelling(hasResponse: Bool) async throws {
        let url = try Stub.url { stub in
            if hasResponse { stub.respond() }
        }
        let witness = Witness()
        let session = sandbox.session(witness) { $0.stub() }
        let task = session.dataTask(with: url).resumed()
        await Stub.wait(for: 1, url)
        task.cancel()
        await witness.completion()
        #expect(witness.events.last == .completed(.cancelled))
        await Stub.wait(for: 2, url)
        #expect(Stub.calls(url) == ["start", "stop"])
    }

    @Test("A stub receives the cached response, and may declare it valid")
    func cached() async throws {
        let url = try Stub.url { stub in
            guard let cached = stub.cachedResponse else { return stub.fail(URLError(.resourceUnavailable)) }
            stub.client?.urlProtocol(stub, cachedResponseIsValid: cached)
            stub.finish()
        }
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil, headerFields: ["Cache-Control": "max-age=100"]))
        let stored = CachedURLResponse(response: response, data: Data("stored".utf8))
        cache.storeCachedResponse(stored, for: URLRequest(url: url))
        let outcome = try await LoadForm.dataDelegate.load(url) {
            $0.stub()
            $0.urlCache = cache
        }
        outcome.expectSuccess(Data("stored".utf8))
    }

    @Test("bytes(for:) delivers a stub's bytes and then throws its error")
    func bytes() async throws {
        struct Own: Error, Equatable {}
        let url = try Stub.url { stub in
            stub.respond()
            stub.send("content")
            stub.fail(Own())
        }
        let session = sandbox.session { $0.stub() }
        let (bytes, response) = try await session.bytes(from: url)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        var received: [UInt8] = []
        await #expect(throws: Own()) {
            for try await byte in bytes { received.append(byte) }
        }
        #expect(received == Array("content".utf8))
    }

    @Test("A stub that does not call its client times out")
    func timeout() async throws {
        let url = try Stub.url { _ in }
        let outcome = try await LoadForm.dataDelegate.load(url) {
            $0.stub()
            $0.timeoutIntervalForRequest = 0.2
        }
        outcome.expectFailure(.timedOut, at: url)
    }

    @Test("A stubbed data task may become a download")
    func becomingDownload() async throws {
        let url = try Stub.url("content")
        let witness = Witness(disposition: .becomeDownload)
        let session = sandbox.session(witness) { $0.stub() }
        session.dataTask(with: url).resume()
        await witness.completion()
        #expect(witness.events.contains(.file(7)))
    }

    @Test("A stub can read the body of an upload", arguments: UploadKind.allCases)
    func uploads(kind: UploadKind) async throws {
        let seen = LockedValue<[String]>([])
        let url = try Stub.url { stub in
            let request = stub.request
            var body = request.httpBody.map { "data: " + String(decoding: $0, as: UTF8.self) }
            if let stream = request.httpBodyStream { body = "stream: " + Self.contents(of: stream) }
            let text = body ?? "nothing"
            seen.withLock { $0.append("\(request.httpMethod ?? "") \(text)") }
            stub.respond(201)
            stub.finish()
        }
        let witness = Witness(stream: { InputStream(data: Data("body".utf8)) })
        let session = sandbox.session(witness) { $0.stub() }
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let task: URLSessionTask
        switch kind {
        case .request:
            request.httpBody = Data("body".utf8)
            task = session.dataTask(with: request)
        case .requestStream:
            request.httpBodyStream = InputStream(data: Data("body".utf8))
            task = session.dataTask(with: request)
        case .data:
            task = session.uploadTask(with: request, from: Data("body".utf8))
        case .file:
            let file = sandbox.file("body")
            try Data("body".utf8).write(to: file)
            task = session.uploadTask(with: request, fromFile: file)
        case .stream:
            task = session.uploadTask(withStreamedRequest: request)
        }
        task.resume()
        await witness.completion()
        #expect(witness.events.last == .completed(nil))
        #expect(seen.withLock { $0 } == ["PUT \(kind.isStream ? "stream" : "data"): body"])
    }

    enum UploadKind: CaseIterable, Sendable {
        case request, requestStream, data, file, stream

        var isStream: Bool { self != .request && self != .data }
    }

    private static func contents(of stream: InputStream) -> String {
        stream.open()
        defer { stream.close() }
        var bytes = [UInt8](repeating: 0, count: 100)
        var contents: [UInt8] = []
        while case let count = stream.read(&bytes, maxLength: 100), count > 0 { contents += bytes[..<count] }
        return String(decoding: contents, as: UTF8.self)
    }
}

/// A stub that is passed to another thread, which is the only one to use it.
private struct Handover: @unchecked Sendable {
    let stub: Stub

    init(_ stub: Stub) { self.stub = stub }
}
