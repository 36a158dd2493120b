import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Uploads that resume", .timeLimit(.minutes(5)))
struct ResumableUploadTests {
    // MARK: What is sent

    @Test(
        "An upload that nobody interrupts is one request",
        arguments: URLSessionConfiguration.ResumableUploadVersion.allCases)
    func oneRequest(version: URLSessionConfiguration.ResumableUploadVersion) async throws {
        let site = try ResumableSite()
        let (body, response) = try await site.upload { $0.resumableUploadVersion = version }
        #expect(body == "done" && response.statusCode == 201)
        #expect(site.methods == ["PUT"])
        let fields = try #require(site.server.requests.first?.fields)
        #expect(fields["Upload-Complete"] == "?1")
        #expect(fields["Upload-Length"] == "\(site.content.size)")
        #expect(fields["Upload-Draft-Interop-Version"] == "\(version.rawValue)")
        #expect(fields["Content-Length"] == "\(site.content.size)")
        site.expectWhole()
    }

    @Test(
        "Unless the session asks for resumption, a request is what it is without",
        arguments: [URLSessionConfiguration.ResumableUploads.automatic, .never])
    func plainRequest(mode: URLSessionConfiguration.ResumableUploads) async throws {
        let site = try ResumableSite()
        _ = try await site.upload { $0.resumableUploads = mode }
        let request = try #require(site.server.requests.first)
        #expect(
            request.fields.names == ["Host", "Accept", "Accept-Encoding", "User-Agent", "Content-Length"])
        #expect(site.target.uploads.map(\.version) == [nil])
    }

    @Test("The default is automatic")
    func defaultMode() {
        #expect(URLSessionConfiguration.default.resumableUploads == .automatic)
        #expect(URLSessionConfiguration.default.resumableUploadVersion == .eight)
    }

    @Test("A request that has a field of the protocol is left to the program")
    func ownFields() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(1000))
        let session = site.session()
        await #expect(throws: URLError.self) {
            try await session.upload(
                for: site.request(["Upload-Complete": "?1", "Upload-Draft-Interop-Version": "8"]), fromFile: site.file)
        }
        #expect(site.methods == ["PUT"])
    }

    @Test("A data task is not an upload task")
    func dataTask() async throws {
        let site = try ResumableSite()
        let session = site.session()
        var request = site.request()
        request.httpBody = Data("body".utf8)
        _ = try await session.data(for: request)
        #expect(site.server.requests.first?.fields["Upload-Complete"] == nil)
    }

    // MARK: Cuts

    @Test("An upload of 8 MiB that is cut at each of 128 boundaries arrives whole, no byte twice")
    func everyBoundary() async throws {
        let site = try ResumableSite(size: 8 << 20)
        let boundaries = (0..<128).map { $0 * (site.content.size / 128) }
        for boundary in boundaries { site.target.fault(.connection(.cut), at: .offset(boundary)) }
        let (body, _) = try await site.upload()
        #expect(body == "done")
        site.expectWhole()
        let parts = try #require(site.target.uploads.first?.parts.map(\.range))
        #expect(parts.map(\.lowerBound) == boundaries)
        let resuming: [String] = boundaries.flatMap { _ in ["HEAD", "PATCH"] }
        #expect(site.methods == ["PUT"] + resuming)
    }

    @Test("A reset counts as a cut", arguments: [500_000, (1 << 20) - 1, 1 << 20])
    func reset(offset: Int) async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.reset), at: .offset(offset))
        #expect(try await site.upload().body == "done")
        #expect(site.methods == ["PUT", "HEAD", "PATCH"])
        site.expectWhole()
    }

    @Test("Data is resumed like a file, in version 6 as well")
    func data() async throws {
        let site = try ResumableSite()
        for offset in [300_000, 700_000] { site.target.fault(.connection(.cut), at: .offset(offset)) }
        let session = site.session { $0.resumableUploadVersion = .six }
        let (_, response) = try await session.upload(for: site.request(), from: site.content.data)
        #expect((response as? HTTPURLResponse)?.statusCode == 201)
        #expect(site.target.uploads.first?.version == 6)
        site.expectWhole()
    }

    @Test("The rest is sent with its offset, its type and the fields of the program, without those of the content")
    func fieldsOfTheRest() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        _ = try await site.upload([
            "Content-Type": "video/mp4", "Content-Disposition": "inline", "Authorization": "Basic eA==",
            "X-Other": "kept",
        ])
        let requests = site.server.requests
        #expect(requests.map(\.path) == ["/files", "/files/upload-0", "/files/upload-0"])
        #expect(requests.map { $0.fields["Content-Type"] } == ["video/mp4", nil, "application/partial-upload"])
        #expect(requests.map { $0.fields["Content-Disposition"] } == ["inline", nil, nil])
        #expect(requests.map { $0.fields["Authorization"] } == ["Basic eA==", "Basic eA==", "Basic eA=="])
        #expect(requests.map { $0.fields["X-Other"] } == ["kept", "kept", "kept"])
        #expect(requests.map { $0.fields["Upload-Offset"] } == [nil, nil, "400000"])
        #expect(requests.map { $0.fields["Upload-Complete"] } == ["?1", nil, "?1"])
        #expect(requests.map { $0.fields["Upload-Draft-Interop-Version"] } == ["8", "8", "8"])
        #expect(requests.last?.fields["Content-Length"] == "\(site.content.size - 400_000)")
    }

    @Test("The counts of bytes continue where the server is")
    func counts() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        let witness = UploadWitness()
        let session = site.session(witness)
        let task = session.uploadTask(with: site.request(), fromFile: site.file).resumed()
        await witness.completion()
        #expect(task.error == nil)
        let size = Int64(site.content.size)
        #expect(task.countOfBytesSent == size && task.countOfBytesExpectedToSend == size)
        #expect(witness.events.contains(.sent(size, of: size)))
        #expect(witness.events.contains(.interim(104)))
    }

    @Test(
        "Nothing was offered: a cut fails the task",
        arguments: [URLSessionConfiguration.ResumableUploads.automatic, .never])
    func cutWithoutOffer(mode: URLSessionConfiguration.ResumableUploads) async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        let error = await site.failure { $0.resumableUploads = mode }
        #expect(error?.code == .networkConnectionLost && error?.uploadTaskResumeData == nil)
        #expect(site.methods == ["PUT"])
    }

    @Test("A server that offers by itself is believed, unless the session never resumes")
    func offeredByItself() async throws {
        for (mode, requests) in [
            (URLSessionConfiguration.ResumableUploads.automatic, ["PUT", "HEAD", "PATCH"]), (.never, ["PUT"]),
        ] {
            let site = try ResumableSite()
            let offer = KeyValuePairs(dictionaryLiteral: ("Upload-Draft-Interop-Version", "6"), ("Location", "/upload"))
            site.server.route("/files", .status(201).interim(104, fields: offer).cut(at: .beforeHead))
            site.server.route("/upload", method: "HEAD", .status(204).field("Upload-Offset", "0"))
            site.server.route("/upload", method: "PATCH", .status(200).field("Upload-Complete", "?1"))
            let status = try? await site.upload { $0.resumableUploads = mode }.response.statusCode
            #expect(site.methods == requests)
            #expect(status == (mode == .automatic ? 200 : nil))
        }
    }

    // MARK: Responses

    @Test(
        "What a server responds with after it has all is the task's response, whatever its status",
        arguments: [200, 403, 422, 500, 503])
    func finalStatus(status: Int) async throws {
        let site = try ResumableSite(UploadTarget(reply: .text("verdict").status(status)))
        site.target.fault(.connection(.cut), at: .offset(400_000))
        let (body, response) = try await site.upload()
        #expect(response.statusCode == status && body == "verdict")
        #expect(site.methods == ["PUT", "HEAD", "PATCH"])
    }

    @Test("A final response that was lost is learned from the offset")
    func lostFinalResponse() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .completion)
        let (body, response) = try await site.upload()
        #expect(body.isEmpty && response.statusCode == 204)
        #expect(response.value(forHTTPHeaderField: "Upload-Complete") == "?1")
        #expect(site.methods == ["PUT", "HEAD"])
        site.expectWhole()
    }

    @Test("A 5xx in the middle asks for the offset, and the rest follows")
    func serverError() async throws {
        let site = try ResumableSite()
        site.target.fault(.reply(.status(503)), at: .offset(400_000))
        #expect(try await site.upload().body == "done")
        #expect(site.methods == ["PUT", "HEAD", "PATCH"])
        site.expectWhole()
    }

    @Test("A 5xx to all of the content is the task's response, if the server then has all of it")
    func serverErrorAfterCompletion() async throws {
        let site = try ResumableSite()
        site.target.fault(.reply(.status(502)), at: .completion)
        let (_, response) = try await site.upload()
        #expect(response.statusCode == 502)
        #expect(site.methods == ["PUT", "HEAD"])
        site.expectWhole()
    }

    @Test("A 5xx to the question is asked again")
    func serverErrorToQuestion() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.reply(.status(500)), at: .offsetRetrieval)
        #expect(try await site.upload().body == "done")
        #expect(site.methods == ["PUT", "HEAD", "HEAD", "PATCH"])
        site.expectWhole()
    }

    @Test("A 409 states the right offset, and the rest follows from there")
    func conflict() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.offset(100_000), at: .offsetRetrieval)
        #expect(try await site.upload().body == "done")
        #expect(site.methods == ["PUT", "HEAD", "PATCH", "PATCH"])
        #expect(site.server.requests.map { $0.fields["Upload-Offset"] } == [nil, nil, "100000", "400000"])
        site.expectWhole()
    }

    @Test("An offset beyond the end fails the task")
    func beyondEnd() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.offset(2 << 20), at: .offsetRetrieval)
        let error = await site.failure()
        #expect(error?.code == .badServerResponse && error?.uploadTaskResumeData == nil)
        #expect(error?.localizedFailureReasonText == "The server has 2097152 bytes of an upload of 1048576.")
        #expect(site.methods == ["PUT", "HEAD"])
    }

    @Test("An offset that was never sent fails the task")
    func neverSent() async throws {
        // More than the sockets hold.
        let site = try ResumableSite(size: 24 << 20)
        site.target.fault(.connection(.reset), at: .offset(100_000))
        site.target.fault(.offset((24 << 20) - 1000), at: .offsetRetrieval)
        let error = await site.failure()
        #expect(error?.code == .badServerResponse && error?.uploadTaskResumeData == nil)
        let reason = error?.localizedFailureReasonText ?? ""
        #expect(reason.hasPrefix("The server has 25164824 bytes of an upload of which "), "\(reason)")
        #expect(site.methods == ["PUT", "HEAD"])
    }

    @Test("A server that has lost what it had gets it again")
    func offsetGoesBack() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.connection(.cut), at: .offset(700_000))
        site.target.fault(.truncation(to: 500_000), at: .offset(700_000))
        #expect(try await site.upload().body == "done")
        #expect(site.target.uploads.first.map { site.content.matches($0.content) } == true)
    }

    @Test("Large parts are refused with a limit, and small ones sent")
    func tooLarge() async throws {
        let site = try ResumableSite(
            UploadTarget(limits: .init(maximumAppendSize: 400_000), reply: .text("done").status(201)))
        #expect(try await site.upload().body == "done")
        #expect(site.methods == ["PUT", "PUT", "PATCH", "PATCH"])
        #expect(site.server.requests.map { $0.fields["Upload-Complete"] } == ["?1", "?0", "?0", "?1"])
        #expect(site.target.uploads.first?.parts.map(\.range) == [0..<400_000, 400_000..<800_000, 800_000..<1_048_576])
        site.expectWhole()
    }

    @Test("An upload that is larger than the server takes fails the task")
    func oversized() async throws {
        let site = try ResumableSite()
        let offer = KeyValuePairs(
            dictionaryLiteral: ("Upload-Draft-Interop-Version", "8"), ("Location", "/upload"),
            ("Upload-Limit", "max-size=10"))
        site.server.route("/files", .status(201).interim(104, fields: offer).stalled(at: .beforeHead))
        #expect(await site.failure()?.code == .dataLengthExceedsMaximum)
        #expect(site.methods == ["PUT"])
    }

    @Test("Other 4xx fail the task, with resume data unless the upload is gone", arguments: [400, 404, 410])
    func refused(status: Int) async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.reply(.status(status)), at: .offsetRetrieval)
        let error = await site.failure()
        #expect(error?.code == .badServerResponse && (error?.uploadTaskResumeData == nil) == (status != 400))
        #expect(
            error?.localizedFailureReasonText
                == "The server responded with \(status) when it was asked how much of the upload it has.")
    }

    @Test("A 4xx to what is appended is the task's response")
    func appendRefused() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.reply(.status(410)), at: .append)
        #expect(try await site.upload().response.statusCode == 410)
        #expect(site.methods == ["PUT", "HEAD", "PATCH"])
    }

    @Test("A server that speaks the other version is asked for that")
    func otherVersion() async throws {
        let site = try ResumableSite()
        site.server.route(
            "/files",
            .computed { request in
                request.fields["Upload-Draft-Interop-Version"] == "6"
                    ? .text("done") : .status(400).field("Upload-Draft-Interop-Version", "6")
            })
        #expect(try await site.upload().body == "done")
        #expect(site.server.requests.map { $0.fields["Upload-Draft-Interop-Version"] } == ["8", "6"])
    }

    @Test("A 104 in another version, or without one, is no offer", arguments: [6, 7, nil] as [Int?])
    func otherInterimVersion(version: Int?) async throws {
        let site = try ResumableSite()
        site.target.fault(.interimVersion(version), at: .creation)
        site.target.fault(.connection(.cut), at: .offset(400_000))
        let error = await site.failure()
        #expect(error?.code == .networkConnectionLost && error?.uploadTaskResumeData == nil)
        #expect(site.methods == ["PUT"])
    }

    @Test(
        "A 104 that names no URL that may be loaded is no offer",
        arguments: [
            nil, "", "https://example.com/upload", "ws://localhost/upload", "http+unix://%2Ftmp%2Fsocket/upload",
        ]
            as [String?])
    func unusableLocation(location: String?) async throws {
        let site = try ResumableSite()
        site.target.fault(.location(location), at: .creation)
        site.target.fault(.connection(.cut), at: .offset(400_000))
        #expect(await site.failure()?.code == .networkConnectionLost)
        #expect(site.methods == ["PUT"])
    }

    @Test("A 104 after the final response changes nothing")
    func lateInterim() async throws {
        let site = try ResumableSite()
        site.server.route(
            "/files",
            .raw(
                "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"
                    + "HTTP/1.1 104 Late\r\nUpload-Draft-Interop-Version: 8\r\nLocation: /upload\r\n\r\n"))
        #expect(try await site.upload().response.statusCode == 201)
        #expect(site.methods == ["PUT"])
    }

    // MARK: Where to

    @Test("An upload resource of another origin gets no credentials")
    func otherOrigin() async throws {
        let site = try ResumableSite()
        let other = try LoopbackServer()
        other.route("/files/upload-0", .upload(to: site.target))
        site.target.fault(.location(other.url("/files/upload-0").absoluteString), at: .creation)
        site.target.fault(.connection(.cut), at: .offset(400_000))
        let fields = ["Authorization": "Basic eA==", "Cookie": "a=b", "X-Other": "kept"]
        _ = try await site.upload(fields) { $0.httpAdditionalHeaders = ["authorization": "Basic eQ=="] }
        let seen = other.requests
        #expect(seen.map(\.method) == ["HEAD", "PATCH"])
        for request in seen {
            #expect(request.fields["Authorization"] == nil && request.fields["Cookie"] == nil)
            #expect(request.fields["X-Other"] == "kept")
        }
        site.expectWhole()
    }

    @Test("307 and 308 lead to the upload resource's new place", arguments: [307, 308])
    func moved(status: Int) async throws {
        let site = try ResumableSite()
        let other = try LoopbackServer()
        other.route("/files/upload-0", .upload(to: site.target))
        let place = other.url("/files/upload-0").absoluteString
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.reply(.redirect(status, to: place)), at: .offsetRetrieval)
        #expect(try await site.upload(["Authorization": "Basic eA=="]).body == "done")
        #expect(site.methods == ["PUT", "HEAD"])
        #expect(other.requests.map(\.method) == ["HEAD", "PATCH"])
        #expect(other.requests.allSatisfy { $0.fields["Authorization"] == nil })
        site.expectWhole()
    }

    @Test("Any other redirect of the upload resource ends the upload", arguments: [301, 302, 303])
    func otherRedirect(status: Int) async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.reply(.redirect(status, to: "/elsewhere")), at: .offsetRetrieval)
        #expect(await site.failure()?.code == .badServerResponse)
        #expect(site.methods == ["PUT", "HEAD"])
    }

    @Test("A redirect of the creation is followed, and creates the upload elsewhere")
    func redirectedCreation() async throws {
        let site = try ResumableSite()
        site.server.route("/start", .redirect(307, to: "/files"))
        site.target.fault(.connection(.cut), at: .offset(400_000))
        let session = site.session()
        var request = site.request()
        request.url = site.server.url("/start")
        let (body, _) = try await session.upload(for: request, fromFile: site.file)
        #expect(body == Data("done".utf8))
        site.expectWhole()
    }

    // MARK: Patience

    @Test("A server that cuts every request gets no more than three without progress")
    func withoutProgress() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.connection(.cut), at: .offsetRetrieval, times: 3)
        let error = await site.failure()
        #expect(error?.code == .networkConnectionLost)
        #expect(site.methods == ["PUT", "HEAD", "HEAD", "HEAD"])
        // The resume data of the error is good for another task.
        let session = site.session()
        let (body, _) = try await session.upload(resumeFrom: try #require(error?.uploadTaskResumeData))
        #expect(body == Data("done".utf8))
        site.expectWhole()
    }

    // MARK: Streams

    @Test("The delegate gives a stream of the rest")
    func streamFromOffset() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        let content = site.content
        let witness = UploadWitness(
            whole: { ScriptedStream(content) },
            rest: { InputStream(data: content.bytes(Int($0)..<content.size)) })
        let session = site.session(witness)
        session.uploadTask(withStreamedRequest: site.request()).resume()
        await witness.completion()
        #expect(witness.questions == [.neededStream, .interim(104), .neededStreamFrom(400_000), .completed(nil)])
        #expect(site.server.requests.first?.fields["Upload-Length"] == nil)
        #expect(site.server.requests.last?.fields["Transfer-Encoding"] == "chunked")
        site.expectWhole()
    }

    @Test("Of a delegate that gives whole streams alone, the beginning is skipped")
    func streamSkipped() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        let content = site.content
        let witness = UploadWitness(whole: { ScriptedStream(content) })
        let session = site.session(witness)
        let task = session.uploadTask(withStreamedRequest: site.request(["Content-Length": "\(content.size)"]))
        task.resume()
        await witness.completion()
        #expect(
            witness.questions == [
                .neededStream, .interim(104), .neededStreamFrom(400_000), .neededStream, .completed(nil),
            ])
        #expect(site.server.requests.last?.fields["Content-Length"] == "\(content.size - 400_000)")
        site.expectWhole()
    }

    @Test("A delegate that gives no stream of the rest is not asked for another one after the completion")
    func streamOfCancelledUpload() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        let content = site.content
        let asked = LockedValue<URLSessionTask?>(nil)
        let witness = UploadWitness(
            whole: { ScriptedStream(content) },
            rest: { _ in
                asked.withLock { $0 }?.cancel()
                return nil
            })
        let session = site.session(witness)
        let task = session.uploadTask(withStreamedRequest: site.request())
        asked.withLock { $0 = task }
        task.resume()
        await witness.completion()
        await NetworkThread.settle()
        session.finishTasksAndInvalidate()
        await session.delegateQueueHasMadeItsCalls()
        #expect(
            witness.questions == [.neededStream, .interim(104), .neededStreamFrom(400_000), .completed(.cancelled)])
    }

    @Test("A sequence without a delegate fails as it would without resumption, and leaves resume data")
    func sequence() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        let session = site.session()
        let content = site.content
        let sequence = AsyncStream<Data> { continuation in
            continuation.yield(content.data)
            continuation.finish()
        }
        do {
            _ = try await session.upload(for: site.request(), from: sequence)
            Issue.record("It succeeded")
        } catch let error as URLError {
            #expect(error.code == .networkConnectionLost && error.uploadTaskResumeData != nil)
        }
        #expect(site.methods == ["PUT"])
    }

    // MARK: Files that change

    @Test("A file that was written to is uploaded anew, with a reason")
    func changedFile() async throws {
        let site = try ResumableSite()
        let other = GeneratedContent(size: site.content.size, seed: 99)
        let gate = ServerGate()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.connection(.stall(until: gate)), at: .offsetRetrieval)
        let witness = UploadWitness()
        let session = site.session(witness)
        let task = session.uploadTask(with: site.request(), fromFile: site.file).resumed()
        await gate.reached()
        try other.data.write(to: site.file)
        gate.open()
        await witness.completion()
        #expect(task.error == nil)
        #expect(
            witness.questions == [
                .interim(104),
                .restarted(
                    "The file \(site.file.path) has changed since its beginning was sent: it has been written to."),
                .interim(104), .completed(nil),
            ])
        #expect(site.target.uploads.map(\.state) == [.incomplete, .complete])
        #expect(site.target.uploads.last.map { other.matches($0.content) } == true)
    }
}
