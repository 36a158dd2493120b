import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("file: URLs", .timeLimit(.minutes(5)))
struct FileURLTests {
    private let sandbox = Sandbox()

    private func file(_ name: String = "name.txt", _ content: Data = Data("hello".utf8)) throws -> URL {
        let url = sandbox.file(name)
        try content.write(to: url)
        return url
    }

    /// More than a task holds at a time.
    private static let large = GeneratedContent(size: 8 << 20, seed: 3).data

    @Test("A file: URL is loaded in every form", arguments: LoadForm.allCases)
    func forms(form: LoadForm) async throws {
        try await form.load(try file()).expectSuccess(Data("hello".utf8))
        try await form.load(try file("empty", Data())).expectSuccess(Data())
        try await form.load(try file("large", Self.large)).expectSuccess(Self.large)
    }

    @Test(
        "The response has the file's length and the media type of its extension, and is not HTTP",
        arguments: [
            ("name.txt", "text/plain"), ("page.HTML", "text/html"), ("a.tar.gz", "application/gzip"),
            ("picture.jpeg", "image/jpeg"), ("data.json", "application/json"), ("name", "application/octet-stream"),
            ("name.unknown", "application/octet-stream"),
            ("a b%c.png", "image/png"),
        ])
    func response(name: String, type: String) async throws {
        let url = try file(name)
        let (data, response) = try await sandbox.session().data(from: url)
        #expect(data == Data("hello".utf8))
        #expect(Swift.type(of: response) == URLResponse.self)
        #expect(response.url == url)
        #expect(response.mimeType == type)
        #expect(response.expectedContentLength == 5)
        #expect(response.textEncodingName == nil)
        #expect(response.suggestedFilename == name)
    }

    @Test("The host may be localhost, and the file a symbolic link")
    func names() async throws {
        let url = try file()
        let link = sandbox.file("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: url)
        try await LoadForm.dataAsync.load(link).expectSuccess(Data("hello".utf8))
        let local = try #require(URL(string: "file://localhost\(url.path)"))
        try await LoadForm.dataAsync.load(local).expectSuccess(Data("hello".utf8))
        let capitals = try #require(URL(string: "FILE://\(url.path)"))
        try await LoadForm.dataAsync.load(capitals).expectSuccess(Data("hello".utf8))
    }

    @Test(
        "A Range field selects the part that is loaded, and the length is that of the part",
        arguments: [
            ("bytes=0-1", "he"), ("bytes=1-3", "ell"), ("bytes=3-", "lo"), ("bytes=-2", "lo"), ("bytes=2-99", "llo"),
            ("bytes=5-", ""), ("bytes=9-", ""), ("bytes=0-0,2-2", "hello"), ("bytes=3-1", "hello"),
            ("lines=1-", "hello"),
        ], LoadForm.allCases)
    func range(row: (field: String, part: String), form: LoadForm) async throws {
        var request = URLRequest(url: try file())
        request.setValue(row.field, forHTTPHeaderField: "Range")
        try await form.load(request).expectSuccess(Data(row.part.utf8))
        let session = sandbox.session()
        #expect(try await session.data(for: request).1.expectedContentLength == Int64(row.part.utf8.count))
    }

    @Test("HEAD has the response without the content")
    func head() async throws {
        var request = URLRequest(url: try file())
        request.httpMethod = "HEAD"
        let session = sandbox.session()
        let (data, response) = try await session.data(for: request)
        #expect(data.isEmpty)
        #expect(response.expectedContentLength == 5)
    }

    @Test("A delegate receives response, data and completion, and a download task's the file")
    func delegate() async throws {
        let url = try file()
        let witness = Witness()
        let session = sandbox.session(witness)
        session.dataTask(with: url).resume()
        await witness.completion()
        session.downloadTask(with: url).resume()
        await witness.completion(of: 2)
        #expect(
            witness.events == [
                .response(0), .data(5), .completed(nil), .wrote(5, of: 5), .file(5), .completed(nil),
            ])
    }

    @Test("The lines of a file: URL are read as they come")
    func lines() async throws {
        let url = try file("lines.txt", Data("one\ntwo\nthree".utf8))
        let session = sandbox.session()
        let (bytes, _) = try await session.bytes(from: url)
        var lines: [String] = []
        for try await line in bytes.lines { lines.append(line) }
        #expect(lines == ["one", "two", "three"])
    }

    @Test("A task with a sink writes the file's content into it")
    func sink() async throws {
        let url = try file("large", Self.large)
        let copy = sandbox.file("copy")
        let witness = Witness()
        try Data().write(to: copy)
        let sink = FileHandleSink(try FileHandle(forUpdating: copy), recordAt: nil)
        sandbox.session(witness).dataTask(with: url, writingTo: sink).resume()
        await witness.completion()
        #expect(witness.events == [.response(0), .completed(nil)])
        #expect(try Data(contentsOf: copy).isSame(as: Self.large))
    }

    // MARK: Refusals

    enum Obstacle: String, CaseIterable, Sendable {
        case missing, missingFolder, danglingLink, belowFile, endsWithNUL, noPath, folder, root, pipe, device

        var code: URLError.Code {
            switch self {
            case .missing, .missingFolder, .danglingLink, .belowFile, .endsWithNUL, .noPath: .fileDoesNotExist
            case .folder, .root: .fileIsDirectory
            case .pipe, .device: .cannotOpenFile
            }
        }
    }

    private func make(_ obstacle: Obstacle) throws -> URL? {
        let url = sandbox.file(obstacle.rawValue)
        switch obstacle {
        case .missing: break
        case .missingFolder: return url.appendingPathComponent("name")
        case .danglingLink:
            try FileManager.default.createSymbolicLink(at: url, withDestinationURL: sandbox.file("nowhere"))
        case .belowFile: return try file().appendingPathComponent("name")
        case .endsWithNUL: return URL(string: try file().absoluteString + "%00.png")
        case .noPath: return URL(string: "file:")
        case .folder: return sandbox.folder
        case .root: return URL(string: "file:///")
        case .pipe: #expect(mkfifo(url.path, 0o600) == 0)
        case .device: return URL(string: "file:///dev/zero")
        }
        return url
    }

    @Test(
        "What is no readable regular file fails with the code of the reason, and a directory is not listed",
        arguments: Obstacle.allCases, LoadForm.allCases)
    func refusal(obstacle: Obstacle, form: LoadForm) async throws {
        let url = try #require(try make(obstacle))
        try await form.load(url).expectFailure(obstacle.code, at: url)
    }

    @Test("A redirect from HTTP to a file: URL fails", arguments: LoadForm.allCases)
    func redirect(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let local = try file()
        let url = server.route("/start", .redirect(to: local.absoluteString))
        try await form.load(url).expectFailure(.unsupportedURL, at: local)
    }

    @Test("An upload to a file: URL fails, and the file stays as it is")
    func upload() async throws {
        let url = try file()
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let session = sandbox.session()
        let error = await #expect(throws: URLError.self) {
            try await session.upload(for: request, from: Data("other".utf8))
        }
        #expect(error?.code == .unsupportedURL)
        #expect(try Data(contentsOf: url) == Data("hello".utf8))
    }

    // MARK: Flow

    /// Loads the large file until the delegate has its first bytes, and calls `body` while that call has not returned.
    private func whileBlocked(_ body: (URLSessionDataTask, URL) async throws -> Void) async throws -> (Witness, Data) {
        let url = try file("large", Self.large)
        let barrier = CallBarrier()
        let witness = Witness(hook: { _, event in if case .data = event { barrier.pass() } })
        let session = sandbox.session(witness)
        let task = session.dataTask(with: url).resumed()
        await barrier.reached()
        try await body(task, url)
        barrier.open()
        await witness.completion()
        session.invalidateAndCancel()
        return (witness, witness.data(of: task))
    }

    @Test("The file is read no faster than the delegate takes it")
    func backPressure() async throws {
        let (witness, data) = try await whileBlocked { task, url in
            try await LoadForm.dataAsync.load(url).expectSuccess(Self.large)
            #expect(task.countOfBytesReceived <= (1 << 20) + (1 << 19))
        }
        #expect(data.isSame(as: Self.large))
        #expect(witness.events.contains(.completed(nil)))
    }

    @Test("A suspended task reads no more of the file until it is resumed")
    func suspension() async throws {
        let url = try file("large", Self.large)
        let witness = Witness(hook: { task, event in
            if case .response = event { task.suspend() }
        })
        let task = sandbox.session(witness).dataTask(with: url).resumed()
        await witness.wait { $0.contains(.response(0)) }
        try await LoadForm.dataAsync.load(url).expectSuccess(Self.large)
        #expect(task.state == .suspended)
        #expect(task.countOfBytesReceived <= 1 << 19)
        task.resume()
        await witness.completion()
        #expect(witness.data(of: task).isSame(as: Self.large))
    }

    @Test("A cancelled task ends while it reads")
    func cancelling() async throws {
        let (witness, _) = try await whileBlocked { task, _ in task.cancel() }
        #expect(witness.events.contains(.completed(.cancelled)))
    }

    @Test("A file that becomes shorter while it is read fails")
    func shortened() async throws {
        let (witness, _) = try await whileBlocked { _, url in
            let handle = try FileHandle(forWritingTo: url)
            try handle.truncate(atOffset: 0)
            try handle.close()
        }
        #expect(witness.events.contains(.completed(.cannotOpenFile)))
    }
}
