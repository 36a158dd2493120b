import Foundation
import PurlTesting
import Testing

@Suite("Uploads that resume")
struct UploadTargetTests {
    private static let content = GeneratedContent(size: 3000, seed: 1).data

    /// A server with a target at `/files`, and what speaks to it.
    private struct Site {
        let server: LoopbackServer
        let target: UploadTarget

        init(_ target: UploadTarget = UploadTarget()) throws {
            self.target = target
            server = try LoopbackServer()
            server.route("/files", .upload(to: target))
        }

        /// Sends a request's head on a new connection.
        func send(_ request: String, _ fields: String..., version: Int? = 8) async throws -> RawClient {
            let client = try RawClient(to: server)
            let line = version.map { "Upload-Draft-Interop-Version: \($0)\r\n" } ?? ""
            await client.send(
                "\(request) HTTP/1.1\r\nHost: test\r\n\(line)\(fields.map { $0 + "\r\n" }.joined())\r\n")
            return client
        }

        /// Sends content that creates an upload, and reads the 104.
        func create(_ content: Data, length: Int? = nil, version: Int = 8) async throws -> RawClient {
            let client = try await send(
                "POST /files", "Upload-Complete: ?1", "Content-Length: \(length ?? content.count)", version: version)
            #expect(await client.readHead().hasPrefix("HTTP/1.1 104 Upload Resumption Supported\r\n"))
            await client.send(content)
            return client
        }

        /// Appends to the first upload, and reads the response.
        func append(_ content: Data, at offset: Int, completes: Bool = true, version: Int = 8) async throws -> String {
            let client = try await send(
                "PATCH /files/upload-0", "Upload-Offset: \(offset)", "Upload-Complete: ?\(completes ? 1 : 0)",
                "Content-Type: application/partial-upload", "Content-Length: \(content.count)", version: version)
            await client.send(content)
            return await client.readHead()
        }

        /// Asks for the first upload's offset, and reads the response.
        func offset(_ path: String = "/files/upload-0") async throws -> String {
            try await send("HEAD \(path)").readHead()
        }
    }

    // MARK: Without faults

    @Test(
        "A creation is announced with a 104 of its version, and its response is the target's",
        arguments: [
            (6, "Upload-Complete: ?1\r\nUpload-Offset: 3000\r\n"), (8, "Upload-Complete: ?1\r\n"),
        ])
    func creation(_ version: Int, _ state: String) async throws {
        let site = try Site(UploadTarget(limits: .init(maximumSize: 5000, maximumAge: 60), reply: .text("thanks")))
        let client = try await site.send(
            "PUT /files", "Upload-Complete: ?1", "Content-Length: 3000", version: version)
        let age = version == 6 ? "expires" : "max-age"
        #expect(
            await client.readHead() == """
                HTTP/1.1 104 Upload Resumption Supported\r
                Location: /files/upload-0\r
                Upload-Draft-Interop-Version: \(version)\r
                Upload-Limit: max-size=5000, \(age)=60\r
                \r\n
                """)
        await client.send(Self.content)
        let (head, body) = await client.readResponse()
        #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(head.contains(state))
        #expect(String(body) == "thanks")
        let upload = try #require(site.target.uploads.first)
        #expect(upload.content == Self.content)
        #expect(upload.version == version)
        #expect(upload.length == 3000)
        #expect(upload.request.method == "PUT")
        #expect(upload.parts == [.init(request: 0, range: 0..<3000)])
        #expect(upload.state == .complete)
        #expect("\(upload)" == "\(upload.path): 3000 of 3000 bytes in 1 part, complete")
    }

    @Test(
        "A request without a version that the target speaks is an upload that cannot be resumed",
        arguments: [(8, [6]), (6, [8]), (nil, [6, 8])] as [(Int?, Set<Int>)])
    func otherVersion(_ version: Int?, _ versions: Set<Int>) async throws {
        let site = try Site(UploadTarget(versions: versions))
        let client = try await site.send(
            "POST /files", "Upload-Complete: ?1", "Content-Length: 3000", version: version)
        await client.send(Self.content)
        #expect(await client.readHead() == "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        #expect(site.target.uploads.map(\.version) == [nil])
        #expect(site.target.uploads.map(\.content) == [Self.content])
        #expect(try await site.offset().hasPrefix("HTTP/1.1 404 "))
    }

    @Test("What arrived of an interrupted creation can be appended to")
    func resumption() async throws {
        let site = try Site(UploadTarget(reply: .computed { .text("\($0.method) \($0.body.count)") }))
        let first = try await site.create(Self.content.prefix(1000), length: 3000)
        await site.target.wait { $0.first?.offset == 1000 }
        #expect(
            try await site.offset() == """
                HTTP/1.1 204 No Content\r
                Cache-Control: no-store\r
                Upload-Complete: ?0\r
                Upload-Offset: 1000\r
                Upload-Length: 3000\r
                \r\n
                """)
        // The server ends the request that it cannot tell from one that has failed.
        #expect(await first.readToEnd().end == .closed)
        #expect(try await site.append(Self.content[1000..<1500], at: 1000, completes: false).hasPrefix("HTTP/1.1 204 "))
        let last = try await site.send(
            "PATCH /files/upload-0", "Upload-Offset: 1500", "Upload-Complete: ?1", "Content-Length: 1500",
            "Content-Type: application/partial-upload")
        await last.send(Self.content[1500...])
        let (head, body) = await last.readResponse()
        #expect(head.contains("\r\nUpload-Complete: ?1\r\n"))
        #expect(String(body) == "POST 3000")
        let upload = try #require(site.target.uploads.first)
        #expect(upload.content == Self.content)
        #expect(upload.parts.map(\.range) == [0..<1000, 1000..<1500, 1500..<3000])
        #expect(!upload.hasRepeatedContent)
        #expect(site.target.acceptedBytes == 3000)
        #expect(try await site.offset().contains("Upload-Complete: ?1\r\nUpload-Offset: 3000\r\n"))
    }

    @Test("An upload in parts begins with a 201 that has the Location", arguments: [6, 8])
    func parts(_ version: Int) async throws {
        let site = try Site()
        let client = try await site.send(
            "POST /files", "Upload-Complete: ?0", "Upload-Length: 3000", "Content-Length: 1000", version: version)
        _ = await client.readHead()
        await client.send(Self.content.prefix(1000))
        let head = await client.readHead()
        #expect(head.hasPrefix("HTTP/1.1 201 Created\r\n"))
        #expect(head.contains("\r\nLocation: /files/upload-0\r\n"))
        #expect(head.contains("Upload-Complete: ?0"))
        #expect(head.contains("Upload-Offset: 1000") == (version == 6))
        #expect(site.target.uploads.map(\.length) == [3000])
        let answer = try await site.append(Self.content[1000...], at: 1000, version: version)
        #expect(answer.hasPrefix("HTTP/1.1 201 "))
        #expect(site.target.uploads.map(\.content) == [Self.content])
    }

    @Test("An empty upload needs no content, and neither does the completion of one that is all there")
    func withoutContent() async throws {
        let site = try Site()
        let empty = try await site.create(Data())
        #expect(await empty.readHead().hasPrefix("HTTP/1.1 201 "))
        let careful = try await site.send("POST /files", "Upload-Complete: ?0")
        _ = await careful.readHead()
        #expect(await careful.readHead().hasPrefix("HTTP/1.1 201 "))
        let completion = try await site.send(
            "PATCH /files/upload-1", "Upload-Offset: 0", "Upload-Complete: ?1",
            "Content-Type: application/partial-upload")
        #expect(await completion.readHead().contains("Upload-Complete: ?1"))
        #expect(site.target.uploads.map(\.state) == [.complete, .complete])
        #expect(site.target.acceptedBytes == 0)
    }

    @Test("Chunks are taken, and their end ends the upload")
    func chunked() async throws {
        let site = try Site()
        let client = try await site.send("POST /files", "Upload-Complete: ?1", "Transfer-Encoding: chunked")
        _ = await client.readHead()
        await client.send("3\r\nabc\r\n")
        await site.target.wait { $0.first?.offset == 3 }
        #expect(site.target.uploads.map(\.length) == [nil])
        await client.send("2\r\nde\r\n0\r\n\r\n")
        #expect(await client.readHead().hasPrefix("HTTP/1.1 201 "))
        #expect(site.target.uploads.map(\.content) == [Data("abcde".utf8)])
        #expect(site.target.uploads.map(\.length) == [5])
    }

    @Test("104s state the offset as the content arrives, without a Location")
    func progress() async throws {
        let site = try Site(UploadTarget(progressInterval: 1000))
        let client = try await site.create(Self.content)
        for offset in [1000, 2000, 3000] {
            #expect(
                await client.readHead() == """
                    HTTP/1.1 104 Upload Resumption Supported\r
                    Upload-Offset: \(offset)\r
                    Upload-Draft-Interop-Version: 8\r
                    \r\n
                    """)
        }
        #expect(await client.readHead().hasPrefix("HTTP/1.1 201 "))
    }

    @Test("A client that expects 100 Continue gets it after the 104")
    func expectation() async throws {
        let site = try Site()
        let client = try await site.send(
            "POST /files", "Upload-Complete: ?1", "Content-Length: 3000", "Expect: 100-continue")
        #expect(await client.readHead().hasPrefix("HTTP/1.1 104 "))
        #expect(await client.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
        await client.send(Self.content)
        #expect(await client.readHead().hasPrefix("HTTP/1.1 201 "))
    }

    @Test("DELETE cancels an upload, whose resource is then gone")
    func cancellation() async throws {
        let site = try Site()
        let first = try await site.create(Self.content.prefix(1000), length: 3000)
        await site.target.wait { $0.first?.offset == 1000 }
        #expect(try await site.send("DELETE /files/upload-0").readHead().hasPrefix("HTTP/1.1 204 "))
        #expect(await first.readToEnd().end == .closed)
        #expect(site.target.uploads.map(\.state) == [.cancelled])
        #expect(try await site.offset().hasPrefix("HTTP/1.1 404 "))
        #expect(try await site.append(Data(), at: 1000).hasPrefix("HTTP/1.1 404 "))
    }

    @Test("OPTIONS says that uploads resume, and with which limits")
    func options() async throws {
        let site = try Site(UploadTarget(limits: .init(minimumSize: 1, maximumAppendSize: 500)))
        let head = try await site.send("OPTIONS /files").readHead()
        #expect(head.contains("\r\nAccept-Patch: application/partial-upload\r\n"))
        #expect(head.contains("\r\nUpload-Limit: min-size=1, max-append-size=500\r\n"))
    }

    @Test("GET returns what was completed last")
    func retrieval() async throws {
        let site = try Site()
        #expect(try await site.send("GET /files").readHead().hasPrefix("HTTP/1.1 404 "))
        _ = await (try site.create(Self.content)).readHead()
        #expect(await (try site.send("GET /files")).readResponse().body == Self.content)
    }

    // MARK: What is refused

    @Test("An append at another offset gets a 409 with the right one, and changes nothing")
    func conflict() async throws {
        let site = try Site()
        _ = try await site.create(Self.content.prefix(1000), length: 3000)
        await site.target.wait { $0.first?.offset == 1000 }
        for offset in [0, 999, 1001, 3000] {
            let head = try await site.append(Self.content.suffix(from: min(offset, 2999)), at: offset)
            #expect(head.hasPrefix("HTTP/1.1 409 Conflict\r\n"))
            #expect(head.contains("\r\nUpload-Complete: ?0\r\nUpload-Offset: 1000\r\n"))
        }
        #expect(site.target.uploads.map(\.offset) == [1000])
        #expect(try await site.append(Self.content[1000...], at: 1000).hasPrefix("HTTP/1.1 201 "))
    }

    @Test("A complete upload takes no more")
    func completed() async throws {
        let site = try Site()
        _ = await (try site.create(Self.content)).readHead()
        let head = try await site.append(Data([1]), at: 3000)
        #expect(head.hasPrefix("HTTP/1.1 400 "))
        #expect(head.contains("\r\nUpload-Complete: ?1\r\n"))
        #expect(site.target.uploads.map(\.content) == [Self.content])
    }

    @Test(
        "An append that lacks something gets a 4xx",
        arguments: [
            (["Upload-Complete: ?1", "Content-Type: application/partial-upload"], 400),
            (["Upload-Offset: 1000", "Content-Type: application/partial-upload"], 400),
            (["Upload-Offset: -1", "Upload-Complete: ?1", "Content-Type: application/partial-upload"], 400),
            (["Upload-Offset: 1000", "Upload-Complete: ?1"], 415),
            (["Upload-Offset: 1000", "Upload-Complete: ?1", "Content-Type: text/plain"], 415),
        ])
    func incompleteAppend(_ fields: [String], _ status: Int) async throws {
        let site = try Site()
        _ = try await site.create(Self.content.prefix(1000), length: 3000)
        await site.target.wait { $0.first?.offset == 1000 }
        let client = try RawClient(to: site.server)
        await client.send("PATCH /files/upload-0 HTTP/1.1\r\nHost: test\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n")
        #expect(await client.readHead().hasPrefix("HTTP/1.1 \(status) "))
        #expect(site.target.uploads.map(\.offset) == [1000])
    }

    @Test("A length that contradicts itself or an earlier one gets a 400")
    func inconsistentLength() async throws {
        let site = try Site()
        let creation = try await site.send(
            "POST /files", "Upload-Complete: ?1", "Content-Length: 3000", "Upload-Length: 3001")
        #expect(await creation.readHead().hasPrefix("HTTP/1.1 400 "))
        #expect(site.target.uploads.isEmpty)
        _ = try await site.create(Self.content.prefix(1000), length: 3000)
        await site.target.wait { $0.first?.offset == 1000 }
        #expect(try await site.append(Self.content[1000..<2000], at: 1000).hasPrefix("HTTP/1.1 400 "))
        #expect(site.target.uploads.map(\.offset) == [1000])
    }

    @Test("Content beyond the length makes the upload invalid")
    func tooMuchContent() async throws {
        let site = try Site()
        let client = try await site.send(
            "POST /files", "Upload-Complete: ?1", "Upload-Length: 2", "Transfer-Encoding: chunked")
        _ = await client.readHead()
        await client.send("3\r\nabc\r\n0\r\n\r\n")
        #expect(await client.readHead().hasPrefix("HTTP/1.1 400 "))
        #expect(site.target.uploads.map(\.state) == [.invalid])
        #expect(try await site.offset().hasPrefix("HTTP/1.1 404 "))
    }

    @Test(
        "What breaks a limit is refused with the limits",
        arguments: [
            (UploadTarget.Limits(maximumSize: 2999), "?1", 413, "max-size=2999"),
            (.init(maximumAppendSize: 2999), "?1", 413, "max-append-size=2999"),
            (.init(minimumSize: 3001), "?1", 400, "min-size=3001"),
            (.init(minimumAppendSize: 3001), "?0", 400, "min-append-size=3001"),
        ])
    func limits(_ limits: UploadTarget.Limits, _ complete: String, _ status: Int, _ value: String) async throws {
        let site = try Site(UploadTarget(limits: limits))
        let client = try await site.send("POST /files", "Upload-Complete: \(complete)", "Content-Length: 3000")
        let head = await client.readHead()
        #expect(head.hasPrefix("HTTP/1.1 \(status) "))
        #expect(head.contains("\r\nUpload-Limit: \(value)\r\n"))
        #expect(site.target.uploads.isEmpty)
    }

    @Test("Chunks beyond a limit are refused when they arrive")
    func chunksBeyondLimit() async throws {
        let site = try Site(UploadTarget(limits: .init(maximumAppendSize: 4)))
        let client = try await site.send("POST /files", "Upload-Complete: ?1", "Transfer-Encoding: chunked")
        _ = await client.readHead()
        await client.send("3\r\nabc\r\n3\r\ndef\r\n")
        #expect(await client.readHead().hasPrefix("HTTP/1.1 413 "))
    }

    @Test("An upload resource expires", arguments: [true, false])
    func expiry(_ byAge: Bool) async throws {
        let site = try Site(UploadTarget(limits: .init(maximumAge: byAge ? 0 : nil)))
        _ = try await site.create(Self.content.prefix(1000), length: 3000)
        await site.target.wait { $0.first?.offset == 1000 }
        if !byAge { site.target.expire() }
        #expect(try await site.offset().hasPrefix("HTTP/1.1 404 "))
        #expect(site.target.uploads.map(\.state) == [.expired])
    }

    // MARK: Faults

    @Test("A cut at an offset leaves exactly so many bytes", arguments: [0, 1, 1500, 2999, 3000])
    func cutAtOffset(_ offset: Int) async throws {
        let site = try Site()
        site.target.fault(.connection(.cut), at: .offset(offset))
        let client = try await site.create(Self.content)
        #expect(await client.readToEnd().data.isEmpty)
        #expect(site.target.uploads.map(\.offset) == [offset])
        #expect(site.target.uploads.map(\.state) == [.incomplete])
        #expect(site.server.requests.map(\.ending) == [.cut])
        #expect(try await site.append(Self.content[offset...], at: offset).hasPrefix("HTTP/1.1 201 "))
        #expect(site.target.uploads.map(\.content) == [Self.content])
        #expect(site.target.acceptedBytes == 3000)
    }

    @Test("Cuts at several offsets happen in turn, in the creation and in what is appended")
    func severalCuts() async throws {
        let site = try Site()
        for offset in [500, 1000, 2000] { site.target.fault(.connection(.cut), at: .offset(offset), times: 2) }
        _ = await (try site.create(Self.content)).readToEnd()
        for offset in [500, 500, 1000, 1000, 2000] {
            #expect(site.target.uploads.map(\.offset) == [offset])
            #expect(try await site.append(Self.content[offset...], at: offset).isEmpty)
        }
        #expect(try await site.append(Self.content[2000...], at: 2000).hasPrefix("HTTP/1.1 201 "))
        #expect(site.target.uploads[0].parts.map(\.range) == [0..<500, 500..<1000, 1000..<2000, 2000..<3000])
    }

    @Test("A cut of a creation happens before the upload exists, or after the 104")
    func cutCreation() async throws {
        let site = try Site()
        site.target.fault(.connection(.cut), at: .creation)
        let first = try await site.send("POST /files", "Upload-Complete: ?1", "Content-Length: 3000")
        #expect(await first.readTextToEnd() == "")
        #expect(site.target.uploads.isEmpty)
        site.target.fault(.connection(.reset), at: .announcement)
        let second = try await site.send("POST /files", "Upload-Complete: ?1", "Content-Length: 3000")
        #expect(await second.readToEnd().end == .failed(ECONNRESET))
        #expect(site.target.uploads.map(\.offset) == [0])
    }

    @Test("A lost final response leaves a complete upload")
    func lostResponse() async throws {
        let site = try Site()
        site.target.fault(.connection(.cut), at: .completion)
        #expect(await (try site.create(Self.content)).readTextToEnd() == "")
        #expect(try await site.offset().contains("Upload-Complete: ?1\r\nUpload-Offset: 3000\r\n"))
        #expect(site.target.uploads.map(\.content) == [Self.content])
    }

    @Test(
        "A response in place of the server's own leaves what was taken",
        arguments: [
            (UploadTarget.Phase.creation, []), (.announcement, [0]), (.offset(1000), [1000]), (.completion, [3000]),
        ] as [(UploadTarget.Phase, [Int])])
    func otherResponse(_ phase: UploadTarget.Phase, _ offsets: [Int]) async throws {
        let site = try Site()
        site.target.fault(.reply(.text("later").status(503)), at: phase)
        let client = try await site.send("POST /files", "Upload-Complete: ?1", "Content-Length: 3000")
        await client.send(Self.content)
        if phase != .creation { #expect(await client.readHead().hasPrefix("HTTP/1.1 104 ")) }
        let (head, body) = await client.readResponse()
        #expect(head.hasPrefix("HTTP/1.1 503 "))
        #expect(!head.contains("Upload-Complete"))
        #expect(String(body) == "later")
        #expect(site.target.uploads.map(\.offset) == offsets)
    }

    @Test(
        "Later requests can be cut or get another response, too",
        arguments: [UploadTarget.Phase.offsetRetrieval, .append, .part, .cancellation])
    func laterRequests(_ phase: UploadTarget.Phase) async throws {
        let site = try Site()
        _ = try await site.create(Self.content.prefix(1000), length: 3000)
        await site.target.wait { $0.first?.offset == 1000 }
        site.target.fault(.connection(.cut), at: phase)
        site.target.fault(.reply(.status(502)), at: phase)
        for expected in ["", "HTTP/1.1 502 "] {
            switch phase {
            case .offsetRetrieval:
                #expect(try await site.offset().hasPrefix(expected))
            case .cancellation:
                #expect(try await site.send("DELETE /files/upload-0").readHead().hasPrefix(expected))
            case .append, .part, .creation, .announcement, .offset, .completion:
                let offset = site.target.uploads[0].offset
                let head = try await site.append(Self.content[offset..<offset + 10], at: offset, completes: false)
                #expect(head.hasPrefix(expected))
            }
        }
        #expect(site.target.uploads.map(\.offset) == [phase == .part ? 1020 : 1000])
        #expect(site.target.uploads.map(\.state) == [.incomplete])
    }

    @Test("The 104 can have another version, or none, and another Location, or none")
    func interim() async throws {
        let site = try Site(UploadTarget(origin: "http://localhost:1"))
        site.target.fault(.interimVersion(5), at: .creation)
        site.target.fault(.interimVersion(nil), at: .creation, times: 2)
        site.target.fault(.location(nil), at: .creation, times: 2)
        site.target.fault(.connection(.pause(.zero)), at: .creation)
        var heads: [String] = []
        for _ in 0..<3 {
            let client = try await site.send("POST /files", "Upload-Complete: ?1")
            heads.append(await client.readHead())
        }
        #expect(!heads[0].contains("Upload-Draft-Interop-Version") && !heads[0].contains("Location"))
        #expect(!heads[1].contains("Upload-Draft-Interop-Version") && !heads[1].contains("Location"))
        #expect(heads[2].contains("\r\nUpload-Draft-Interop-Version: 8\r\n"))
        #expect(heads[2].contains("\r\nLocation: http://localhost:1/files/upload-2\r\n"))
    }

    @Test("A false offset is stated, and the right one holds")
    func falseOffset() async throws {
        let site = try Site()
        _ = try await site.create(Self.content.prefix(1000), length: 3000)
        await site.target.wait { $0.first?.offset == 1000 }
        site.target.fault(.offset(4000), at: .offsetRetrieval)
        site.target.fault(.connection(.pause(.zero)), at: .offsetRetrieval)
        site.target.fault(.offset(nil), at: .offsetRetrieval)
        site.target.fault(.offset(7), at: .append)
        #expect(try await site.offset().contains("Upload-Offset: 4000\r\n"))
        #expect(try await !site.offset().contains("Upload-Offset"))
        #expect(try await site.append(Self.content[1000...], at: 1000).contains("Upload-Offset: 7\r\n"))
        #expect(try await site.append(Self.content[1000...], at: 1000).hasPrefix("HTTP/1.1 201 "))
    }

    @Test("Content that the server loses is accepted again, which shows")
    func truncation() async throws {
        let site = try Site()
        _ = try await site.create(Self.content.prefix(1000), length: 3000)
        await site.target.wait { $0.first?.offset == 1000 }
        site.target.fault(.truncation(to: 400), at: .offsetRetrieval)
        #expect(try await site.offset().contains("Upload-Offset: 400\r\n"))
        #expect(try await site.append(Self.content[400...], at: 400).hasPrefix("HTTP/1.1 201 "))
        let upload = site.target.uploads[0]
        #expect(upload.content == Self.content)
        #expect(upload.hasRepeatedContent)
        #expect(site.target.acceptedBytes == 3600)
    }

    @Test("A stall stops reading until its gate opens, and a pause for some time")
    func stall() async throws {
        let gate = ServerGate()
        let site = try Site()
        site.target.fault(.connection(.stall(until: gate)), at: .offset(1000))
        site.target.fault(.connection(.pause(.milliseconds(1))), at: .offset(2000))
        site.target.fault(.connection(.pause(.milliseconds(1))), at: .completion)
        let client = try await site.create(Self.content)
        await gate.reached()
        #expect(site.target.uploads.map(\.offset) == [1000])
        gate.open()
        #expect(await client.readHead().hasPrefix("HTTP/1.1 201 "))
        #expect(site.target.uploads.map(\.content) == [Self.content])
        // The client may read the response before the server notes its end.
        await site.server.wait { $0.requests.first?.ending != nil }
        #expect(site.server.requests.map(\.ending) == [.complete])
    }

    @Test("A request for the offset ends one that is stalled, whose gate then does nothing")
    func endedStall() async throws {
        let gate = ServerGate()
        let site = try Site()
        site.target.fault(.connection(.stall(until: gate)), at: .offset(1000))
        let client = try await site.create(Self.content)
        await gate.reached()
        #expect(try await site.offset().contains("Upload-Offset: 1000\r\n"))
        gate.open()
        #expect(await client.readToEnd().data.isEmpty)
        #expect(try await site.offset().contains("Upload-Offset: 1000\r\n"))
    }

    @Test(
        "An upload can expire at any phase",
        arguments: [UploadTarget.Phase.announcement, .offset(10), .offsetRetrieval])
    func expiryAtPhase(_ phase: UploadTarget.Phase) async throws {
        let site = try Site()
        site.target.fault(.expiry, at: phase)
        let client = try await site.create(Self.content.prefix(1000), length: 3000)
        if phase == .offsetRetrieval {
            await site.target.wait { $0.first?.offset == 1000 }
            #expect(try await site.offset().hasPrefix("HTTP/1.1 404 "))
        } else {
            #expect(await client.readHead().hasPrefix("HTTP/1.1 404 "))
        }
        #expect(site.target.uploads.map(\.state) == [.expired])
    }

    // MARK: Several routes and requests

    @Test("A target can be at several servers, and its uploads at either")
    func otherOrigin() async throws {
        let other = try LoopbackServer()
        let site = try Site(UploadTarget(origin: "http://localhost:\(other.port)"))
        other.fallback(.upload(to: site.target))
        _ = try await site.create(Self.content.prefix(1000), length: 3000)
        await site.target.wait { $0.first?.offset == 1000 }
        let client = try RawClient(to: other)
        await client.send("HEAD /files/upload-0 HTTP/1.1\r\nHost: test\r\n\r\n")
        #expect(await client.readHead().contains("Upload-Offset: 1000\r\n"))
    }

    @Test("A connection takes further requests after a response")
    func sameConnection() async throws {
        let site = try Site()
        let client = try await site.create(Self.content)
        #expect(await client.readHead().hasPrefix("HTTP/1.1 201 "))
        for number in 0...1 { await client.send("HEAD /files/upload-\(number) HTTP/1.1\r\nHost: test\r\n\r\n") }
        #expect(await client.readHead().hasPrefix("HTTP/1.1 204 "))
        #expect(await client.readHead().hasPrefix("HTTP/1.1 404 "))
        #expect(site.server.acceptedConnections == 1)
    }

    @Test("Content beyond what the target keeps is counted")
    func limit() async throws {
        let site = try Site(UploadTarget(maximumRecordedContent: 100))
        #expect(await (try site.create(Self.content)).readHead().hasPrefix("HTTP/1.1 201 "))
        #expect(site.target.uploads[0].content == Self.content.prefix(100))
        #expect(site.target.uploads[0].offset == 3000)
    }

    @Test("A handler cannot take an upload")
    func handler() async throws {
        let site = try Site()
        let target = site.target
        site.server.route("/handler", .computed { _ in .upload(to: target) })
        #expect(try await site.send("POST /handler", "Content-Length: 0").readHead().hasPrefix("HTTP/1.1 500 "))
    }
}
