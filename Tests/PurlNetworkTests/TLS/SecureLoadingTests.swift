import Faults
import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import PurlIO
@testable import SessionFixtures

@Suite("Loading over https with a TLS provider", .timeLimit(.minutes(5)))
struct SecureLoadingTests {
    @Test(
        "Every form of load delivers the body, and the server is asked for by its name", arguments: LoadForm.allCases,
        SecureLayer.available)
    func forms(form: LoadForm, layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let url = stage.route("/file", .bytes(content))
        let outcome = try await form.load(url) { $0.tlsProvider = stage.tlsProvider }
        outcome.expectSuccess(content)
        #expect(outcome.response?.url == url)
        #expect(stage.hosts == ["127.0.0.1"])
        if layer == .feigned {
            #expect(
                stage.provider.requests == [TLSConnectionRequest(host: "127.0.0.1", port: Int(stage.port))])
        }
        #expect(stage.server.requests.first?.fields["Host"] == "127.0.0.1:\(stage.port)")
    }

    @Test("The session's versions of TLS reach the provider")
    func versions() async throws {
        let stage = try await SecureStage()
        let url = stage.route("/file", .text("hello"))
        let session = stage.session {
            $0.tlsMinimumSupportedProtocolVersion = .TLSv13
            $0.tlsMaximumSupportedProtocolVersion = .TLSv13
        }
        _ = try await session.data(from: url)
        #expect(stage.provider.requests.map(\.minimumVersion) == [.TLSv13])
        #expect(stage.provider.requests.map(\.maximumVersion) == [.TLSv13])
    }

    @Test("Connections are reused, also after records without content that came while they were idle")
    func reuse() async throws {
        let ticket = FakeRecord.encode(.ticket, [1, 2, 3])
        let stage = try await SecureStage {
            $0.afterHandshake = ticket + ticket
            $0.afterContent = ticket
        }
        let url = stage.route("/file", .text("hello"))
        let session = stage.session()
        for _ in 0..<5 { #expect(try await session.data(from: url).0 == Data("hello".utf8)) }
        #expect(stage.gate.seen.hellos.count == 1)
        #expect(stage.server.requests.map(\.connection) == [1, 1, 1, 1, 1])
    }

    @Test("A connection is not used again after content that no request asked for")
    func surplus() async throws {
        let stage = try await SecureStage {
            $0.afterContent = FakeRecord.encode(
                .content, Array("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad".utf8))
        }
        let url = stage.route("/file", .text("hello"))
        let session = stage.session()
        for _ in 0..<3 { #expect(try await session.data(from: url).0 == Data("hello".utf8)) }
        #expect(stage.gate.seen.hellos.count == 3)
    }

    @Test("Plain and secure connections to one host and port are kept apart", arguments: SecureLayer.available)
    func schemes(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/file", .text("hello"))
        let session = stage.session()
        _ = try await session.data(from: stage.server.url("/file"))
        _ = try await session.data(from: url)
        _ = try await session.data(from: stage.server.url("/file"))
        #expect(stage.server.requests.map(\.connection) == [1, 2, 1])
    }

    @Test("64 tasks at once share no more connections than the configuration allows", arguments: SecureLayer.available)
    func many(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/file", .generated(size: 20_000))
        let session = stage.session()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<64 { group.addTask { try await session.data(from: url).0.count } }
            for try await count in group { #expect(count == 20_000) }
        }
        #expect(stage.hosts.count <= 6)
    }

    @Test("An upload arrives, from memory and from a file", arguments: SecureLayer.available)
    func uploads(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/take", .text("taken"))
        let session = stage.session()
        let content = Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        _ = try await session.upload(for: request, from: content)
        let file = stage.sandbox.file("upload")
        try content.write(to: file)
        _ = try await session.upload(for: request, fromFile: file)
        let bodies = await stage.server.waitForRequests(2).map(\.body)
        #expect(bodies.allSatisfy { $0.isSame(as: content) })
    }

    @Test("A download that is cut off resumes", arguments: SecureLayer.available)
    func resume(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let reply = Reply.generated(size: 1 << 20).entityTag("\"v1\"").cut(afterBytes: 300_000, times: 1)
        let url = stage.route("/film", reply)
        let session = stage.session()
        let error = await #expect(throws: URLError.self) { try await session.download(from: url) }
        #expect(error?.code == .networkConnectionLost)
        let data = try #require(error?.downloadTaskResumeData)
        let (file, response) = try await session.download(resumeFrom: data)
        #expect((response as? HTTPURLResponse)?.statusCode == 206)
        #expect(try Data(contentsOf: file).count == 1 << 20)
        #expect(stage.server.requests.last?.fields["Range"] != nil)
    }

    @Test("An upload that is cut off is resumed", arguments: SecureLayer.available)
    func resumedUpload(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let target = UploadTarget(reply: .text("taken").status(201))
        target.fault(.connection(.cut), at: .offset(300_000))
        let url = stage.route("/files", .upload(to: target))
        let content = GeneratedContent(size: 1 << 20, seed: 19)
        let session = stage.session { $0.resumableUploads = .always }
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let (body, _) = try await session.upload(for: request, from: content.data)
        #expect(body == Data("taken".utf8))
        #expect(stage.server.requests.map(\.method) == ["PUT", "HEAD", "PATCH"])
        #expect(target.uploads.map { content.matches($0.content) } == [true])
        #expect(target.acceptedBytes == content.size)
    }

    @Test("A data task's file is continued after a cut", arguments: SecureLayer.available)
    func sink(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let content = GeneratedContent(size: 1 << 20, seed: 19)
        let url = stage.route(
            "/film", .generated(content).entityTag("\"v1\"").cut(afterBytes: 300_000, times: 1))
        let file = stage.sandbox.file("film")
        for code in [URLError.Code.networkConnectionLost, nil] {
            let witness = Witness()
            let session = stage.session(witness)
            let task = session.dataTask(with: URLRequest(url: url), writingTo: FileHandleSink(fileAt: file)).resumed()
            await witness.completion()
            #expect(witness.error(of: task)?.code == code)
            session.finishTasksAndInvalidate()
        }
        #expect(stage.server.requests.map { $0.fields["Range"] } == [nil, "bytes=300000-"])
        #expect(try Data(contentsOf: file) == content.data)
    }

    @Test(
        "A redirect leads from http to https and back; Authorization and Referer stay behind",
        arguments: SecureLayer.available)
    func redirects(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let plain = stage.server.route("/plain", .text("plain"))
        let secure = stage.route("/secure", .redirect(302, to: plain.absoluteString))
        let start = stage.server.route("/start", .redirect(302, to: secure.absoluteString))
        let session = stage.session()
        var request = URLRequest(url: start)
        request.setValue("Basic xyz", forHTTPHeaderField: "Authorization")
        request.setValue(secure.absoluteString, forHTTPHeaderField: "Referer")
        let (body, response) = try await session.data(for: request)
        #expect(body == Data("plain".utf8))
        #expect(response.url == plain)
        #expect(stage.server.requests.map(\.path) == ["/start", "/secure", "/plain"])
        #expect(stage.server.requests.map { $0.fields["Authorization"] } == ["Basic xyz", nil, nil])
        #expect(stage.server.requests.map { $0.fields["Referer"] != nil } == [true, true, false])
    }

    @Test("Secure cookies are set, and sent over secure connections alone", arguments: SecureLayer.available)
    func cookies(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/set", .text("x").field("Set-Cookie", "a=1; Secure"))
        let session = stage.session()
        _ = try await session.data(from: url)
        _ = try await session.data(from: url)
        _ = try await session.data(from: stage.server.url("/set"))
        #expect(stage.server.requests.map { $0.fields["Cookie"] } == [nil, "a=1", nil])
    }

    @Test("A stored response is used for the same https URL, and not for http", arguments: SecureLayer.available)
    func cache(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/kept", .text("x").field("Cache-Control", "max-age=1000"))
        let session = stage.session()
        for _ in 0..<2 { _ = try await session.data(from: url) }
        _ = try await session.data(from: stage.server.url("/kept"))
        #expect(stage.server.requests.count == 2)
    }

    @Test("A password is asked for in a protection space of https", arguments: SecureLayer.available)
    func password(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route(
            "/private",
            .computed { request in
                request.fields["Authorization"] == ProtectedResource.basic
                    ? .text("in") : .status(401).field("WWW-Authenticate", "Basic realm=\"club\"")
            })
        let spaces = LockedValue<[URLProtectionSpace]>([])
        let witness = Witness(challenge: { challenge in
            if challenge.protectionSpace.serverTrust != nil { return (.performDefaultHandling, nil) }
            spaces.withLock { $0.append(challenge.protectionSpace) }
            return (.useCredential, URLCredential(user: "me", password: "secret", persistence: .forSession))
        })
        let session = stage.session(witness)
        let task = session.dataTask(with: url).resumed()
        await witness.completion()
        #expect(witness.data(of: task) == Data("in".utf8))
        let space = try #require(spaces.withLock { $0.first })
        #expect(space.protocol == NSURLProtectionSpaceHTTPS)
        #expect(space.receivesCredentialSecurely)
    }

    @Test("A WebSocket's messages go both ways over wss", arguments: SecureLayer.available)
    func webSocket(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        stage.server.route("/ws", .webSocket())
        let session = stage.session()
        for scheme in ["wss", "https"] {
            let task = session.webSocketTask(with: stage.url("/ws", scheme: scheme)).resumed()
            try await task.send(.string("hello"))
            #expect(try await task.receive().text == "hello")
            let large = String(repeating: "x", count: 300_000)
            try await task.send(.string(large))
            #expect(try await task.receive().text == large)
            task.cancel(with: .normalClosure, reason: nil)
        }
        if layer == .feigned { await stage.gate.wait { $0.closeNotifies == 2 } }
    }

    @Test("Background sessions download over https", arguments: SecureLayer.available)
    func background(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/film", .generated(size: 200_000))
        let configuration = URLSessionConfiguration.background(withIdentifier: UUID().uuidString)
        configuration.partialDownloadsDirectory = stage.sandbox.partials
        configuration.backgroundSessionsDirectory = stage.sandbox.file("sessions")
        configuration.tlsProvider = stage.tlsProvider
        configuration.proxyVariables = [:]
        let witness = Witness()
        let session = URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
        let task = session.downloadTask(with: url).resumed()
        await witness.completion()
        #expect(witness.file(of: task)?.count == 200_000)
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
    }

    @Test(
        "Metrics have the handshake's dates, the version and the cipher suite; a reused connection has no dates",
        arguments: SecureLayer.available)
    func metrics(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/file", .text("hello"))
        let observer = TaskWitness()
        let session = stage.session(observer)
        for count in 1...2 {
            session.dataTask(with: url).resume()
            await observer.completion(of: count)
        }
        let transactions = observer.metrics.compactMap(\.transactionMetrics.first)
        let first = try #require(transactions.first)
        let dates = [
            first.fetchStartDate, first.domainLookupStartDate, first.domainLookupEndDate, first.connectStartDate,
            first.secureConnectionStartDate, first.secureConnectionEndDate, first.connectEndDate,
            first.requestStartDate,
            first.requestEndDate, first.responseStartDate, first.responseEndDate,
        ].compactMap { $0 }
        #expect(dates.count == 11)
        #expect(dates == dates.sorted())
        #expect(transactions.map(\.negotiatedTLSProtocolVersion) == [.TLSv13, .TLSv13])
        let suite: tls_ciphersuite_t = layer == .feigned ? .AES_128_GCM_SHA256 : .AES_256_GCM_SHA384
        #expect(transactions.map(\.negotiatedTLSCipherSuite) == [suite, suite])
        #expect(transactions.map(\.networkProtocolName) == ["http/1.1", "http/1.1"])
        #expect(transactions.map(\.isReusedConnection) == [false, true])
        #expect(transactions.last?.secureConnectionStartDate == nil)
        #expect(transactions.last?.secureConnectionEndDate == nil)
    }
}
