import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Uploads in every form", .timeLimit(.minutes(5)))
struct UploadTests {
    private let sandbox = Sandbox()
    static let sizes = [0, 1, 262_143, 262_144, 262_145, 3_000_000]

    @Test("An upload of any size is received whole by the server", arguments: UploadForm.allCases, sizes)
    func whole(form: UploadForm, size: Int) async throws {
        let server = try LoopbackServer()
        let upload = try Upload(form, GeneratedContent(size: size, seed: 15))
        let outcome = await upload.load(Upload.request(server.route("/file", .text("done"))))
        outcome.expectSuccess(Data("done".utf8))
        #expect(server.requests.map { $0.body.isSame(as: upload.content.data) } == [true])
        #expect(server.requests.map { $0.fields["Content-Length"] } == [form.isChunked ? nil : "\(size)"])
        #expect(server.requests.map { $0.fields["Transfer-Encoding"] } == [form.isChunked ? "chunked" : nil])
    }

    @Test("didSendBodyData counts the bytes of an upload", arguments: UploadForm.allCases.filter(\.hasDelegate), sizes)
    func counted(form: UploadForm, size: Int) async throws {
        let server = try LoopbackServer()
        let upload = try Upload(form, GeneratedContent(size: size))
        let session = upload.sandbox.session(upload.witness)
        let task = try #require(
            upload.makeTask(Upload.request(server.route("/file", .text("done"))), in: session))
        #expect(task.countOfBytesSent == 0)
        task.resume()
        await upload.witness.completion()
        let expected = form.isChunked ? NSURLSessionTransferSizeUnknown : Int64(size)
        let asked: [Witness.Event] = form == .streamed ? [.neededStream] : []
        let sent: [Witness.Event] = size == 0 ? [] : [.sent(Int64(size), of: expected)]
        #expect(upload.witness.events == asked + sent + [.response(200), .data(4), .completed(nil)])
        #expect(task.countOfBytesSent == Int64(size))
        #expect(task.countOfBytesExpectedToSend == expected)
    }

    @Test("The task's progress counts the bytes sent and received", arguments: [UploadForm.data, .file, .streamed])
    func progress(form: UploadForm) async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let upload = try Upload(form, GeneratedContent(size: 1000))
        let session = upload.sandbox.session(upload.witness)
        let url = server.route("/file", .text("done").delayed(until: gate))
        let task = try #require(upload.makeTask(Upload.request(url), in: session))
        let progress = task.progress
        task.resume()
        await gate.reached()
        await upload.witness.wait { $0.contains { if case .sent(1000, _) = $0 { true } else { false } } }
        #expect(progress.completedUnitCount == 1000)
        #expect(progress.totalUnitCount == (form.isChunked ? -1 : 1000))
        gate.open()
        await upload.witness.completion()
        #expect(progress.completedUnitCount == 1004 && progress.totalUnitCount == 1004)
    }

    @Test("An upload leaves a reusable connection", arguments: UploadForm.allCases)
    func reuse(form: UploadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done"))
        let upload = try Upload(form, GeneratedContent(size: 300_000))
        let session = upload.sandbox.session(upload.witness)
        if let task = upload.makeTask(Upload.request(url), in: session) {
            task.resume()
            await upload.witness.completion()
        } else {
            _ = try await session.upload(for: Upload.request(url), fromFile: upload.file)
        }
        _ = try await session.data(from: url)
        #expect(server.requests.map(\.connection) == [1, 1])
    }

    @Test("An upload task is listed among the upload tasks")
    func lists() async throws {
        let session = sandbox.session()
        let url = try #require(URL(string: "http://127.0.0.1:1/"))
        let tasks = [
            session.uploadTask(with: URLRequest(url: url), from: Data()),
            session.uploadTask(with: URLRequest(url: url), fromFile: sandbox.file("none")),
            session.uploadTask(withStreamedRequest: URLRequest(url: url)),
            session.uploadTask(with: URLRequest(url: url), from: nil) { _, _, _ in },
            session.uploadTask(with: URLRequest(url: url), fromFile: sandbox.file("none")) { _, _, _ in },
        ]
        let (data, uploads, downloads) = await session.tasks
        #expect(data == [] && uploads == tasks && downloads == [])
        #expect(tasks.allSatisfy { $0.state == .suspended })
    }

    @Test("An upload's body replaces that of the request", arguments: [true, false])
    func replaces(isStream: Bool) async throws {
        let server = try LoopbackServer()
        var request = Upload.request(server.route("/file", .text("done")))
        if isStream {
            request.httpBodyStream = InputStream(data: Data("not this".utf8))
        } else {
            request.httpBody = Data("not this".utf8)
        }
        let session = sandbox.session()
        _ = try await session.upload(for: request, from: Data("this".utf8))
        #expect(server.requests.map(\.body) == [Data("this".utf8)])
        #expect(server.requests.map { $0.fields["Content-Type"] } == [nil])
    }

    @Test("The delegate of an async upload receives its redirects")
    func ownDelegate() async throws {
        let server = try LoopbackServer()
        server.route("/end", .text("end"))
        let url = server.route("/start", .redirect(307, to: "/end"))
        let witness = Witness()
        let (body, _) = try await sandbox.session().upload(
            for: Upload.request(url), from: Data("this".utf8), delegate: witness)
        #expect(body == Data("end".utf8))
        #expect(
            witness.events == [
                .sent(4, of: 4), .redirect(307, to: "/end"), .sent(4, of: 4), .response(200), .data(3),
            ])
    }

    @Test("A stream of Foundation's can be sent")
    func systemStream() async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 1_000_000, seed: 3)
        try content.data.write(to: sandbox.file("upload"))
        let streams = [InputStream(data: content.data), try #require(InputStream(url: sandbox.file("upload")))]
        for stream in streams {
            var request = Upload.request(server.route("/file", .text("done")))
            request.httpBodyStream = stream
            try await LoadForm.dataDelegate.load(request).expectSuccess(Data("done".utf8))
            #expect(server.requests.last?.body.isSame(as: content.data) == true)
            #expect(stream.streamStatus == .closed)
        }
    }

    @Test("A stream is opened and closed once, also if it is already open", arguments: [false, true])
    func opening(isOpen: Bool) async throws {
        let server = try LoopbackServer()
        let stream = ScriptedStream(GeneratedContent(size: 1000))
        if isOpen { stream.open() }
        var request = Upload.request(server.route("/file", .text("done")))
        request.httpBodyStream = stream
        try await LoadForm.dataDelegate.load(request).expectSuccess(Data("done".utf8))
        await stream.history.waitUntilClosed()
        #expect(stream.history.openings == 1 && stream.history.closings == 1)
    }

    @Test("An upload from a symbolic link sends its target")
    func link() async throws {
        let server = try LoopbackServer()
        let upload = try Upload(.file, GeneratedContent(size: 1000))
        let link = upload.sandbox.file("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: upload.file)
        let session = upload.sandbox.session()
        _ = try await session.upload(for: Upload.request(server.route("/file", .text(""))), fromFile: link)
        #expect(server.requests.map(\.body) == [upload.content.data])
    }
}
