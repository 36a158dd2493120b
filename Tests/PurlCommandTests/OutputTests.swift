import Foundation
import PurlIO
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl get -o with a path that is no plain file", .timeLimit(.minutes(5)))
struct OutputTests {
    static let content = GeneratedContent(size: 1_000_000, seed: 21)

    let folder = TemporaryFolder()
    let server: LoopbackServer
    let url: URL

    init() throws {
        server = try LoopbackServer()
        url = server.route("/film.bin", .generated(Self.content).entityTag("\"v1\""))
    }

    private func get(_ output: String, _ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["get", url.absoluteString, "-o", output] + options, in: folder)
    }

    private func makePipe(_ name: String = "pipe") {
        #expect(mkfifo(folder.file(name).path, 0o600) == 0)
    }

    /// Reads what comes out of a FIFO until its writer closes it.
    ///
    /// - Parameter limit: Closes it after so many bytes.
    private func reader(of name: String, limit: Int = .max) -> Task<Data, Never> {
        let (bytes, toBytes) = AsyncStream<Data>.makeStream()
        let path = folder.file(name).path
        Thread.detachNewThread {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            var read = Data()
            // A test that has failed may have removed the FIFO.
            if descriptor >= 0 {
                let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
                while read.count < limit, let data = try? handle.read(upToCount: 65_536), !data.isEmpty { read += data }
                try? handle.close()
            }
            toBytes.yield(read)
            toBytes.finish()
        }
        return Task { await bytes.first { _ in true } ?? Data() }
    }

    private func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: folder.file(name).path, withDestinationPath: target)
    }

    // MARK: Streams

    @Test("writes the file into a FIFO, which stays one")
    func pipe() async throws {
        makePipe()
        let reader = reader(of: "pipe")
        let (code, lines) = try await get("pipe", "--sha256", Self.content.sha256)
        #expect(code == 0)
        #expect(lines.first == "pipe: downloading (1.00 MB)")
        #expect(lines.last?.hasPrefix("pipe: complete and checked, 1.00 MB in ") == true)
        #expect(await reader.value == Self.content.data)
        #expect(folder.names == ["pipe"])
        #expect(FileEntry(at: folder.file("pipe")) == .pipe)
    }

    @Test("says that a closed descriptor takes no bytes", arguments: ["/dev/stdout", "/dev/fd/1", "/dev/stderr"])
    func closed(path: String) async throws {
        let descriptor = path == "/dev/stderr" ? 2 : 1
        let process = try PurlProcess(
            shell: "exec 3>&2; \"$0\" \"$@\" \(descriptor)>&-; echo $? >&3", ["get", url.absoluteString, "-o", path],
            in: folder)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(lines == (descriptor == 1 ? ["purl: “\(path)” is not open."] : []) + ["1"])
        #expect(server.requests.isEmpty)
        #expect(folder.names.isEmpty)
    }

    @Test("continues when what reads its lines has closed the pipe", arguments: [["--json"], ["-v"]])
    func noReader(options: [String]) async throws {
        makePipe()
        let process = try PurlProcess(
            shell: "exec 3>&2 4<>pipe 5>pipe 4<&-; \"$0\" \"$@\" >&5 2>&5; echo $? >&3",
            ["get", url.absoluteString, "-o", "film"] + options, in: folder)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        #expect(lines == ["0"])
        #expect(folder.contents("film") == Self.content.data)
    }

    @Test("refuses a name that the partial files cannot have, before the request")
    func namesOfPartialFiles() async throws {
        let long = String(repeating: "a", count: 245)
        let suffix = "until it is complete, purl needs room for “.resume.new” behind it. Choose another name with -o."
        #expect(try await get(long) == (1, ["purl: “\(long)” is too long by 1 byte: \(suffix)"]))
        #expect(try await get(long + "éé").lines == ["purl: “\(long)éé” is too long by 5 bytes: \(suffix)"])
        let (code, lines) = try await get("a\nb")
        #expect(code == 1)
        #expect(lines.count == 1)
        #expect(
            lines.last?.hasSuffix(
                "has a line break or another control character, which purl cannot record. Choose another name with -o.")
                == true)
        #expect(server.requests.isEmpty)
        #expect(folder.names.isEmpty)
        #expect(try await get(String(long.dropLast())).exitCode == 0)
    }

    @Test("reports a wrong SHA-256 of what it has written into a FIFO")
    func checksum() async throws {
        makePipe()
        let reader = reader(of: "pipe")
        let wrong = String(repeating: "0", count: 64)
        let (code, lines) = try await get("pipe", "--sha256", wrong)
        #expect(code == 1)
        #expect(
            lines.last
                == "purl: “pipe” has the wrong SHA-256: \(Self.content.sha256) instead of \(wrong). The bytes were"
                + " written to it all the same.")
        #expect(await reader.value == Self.content.data)
    }

    @Test("fails when the FIFO's reader leaves, and does not write its bytes again", arguments: ["0", "3"])
    func brokenPipe(retries: String) async throws {
        makePipe()
        let reader = reader(of: "pipe", limit: 10_000)
        let (code, lines) = try await get("pipe", "--retry", retries)
        #expect(code == 1)
        #expect(lines.contains { $0.hasPrefix("purl: ") && $0.contains("Broken pipe") })
        #expect(lines.last?.hasSuffix("written, which cannot be resumed") == true)
        #expect(await Self.content.data.starts(with: reader.value))
        #expect(server.requests.count == 1)
        #expect(folder.names == ["pipe"])
    }

    @Test("writes no more than --max-filesize into a FIFO", arguments: [true, false])
    func maximum(hasLength: Bool) async throws {
        let reply = Reply.generated(Self.content)
        server.route("/film.bin", hasLength ? reply : reply.chunked(size: 10_000))
        makePipe()
        // Both ends are open, so that the reader ends with the test even where nothing opens the FIFO for writing.
        let reader = open(folder.file("pipe").path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let (code, lines) = try await get("pipe", "--max-filesize", "50000", "--retry", "3")
        #expect(code == 1)
        let sentence =
            hasLength
            ? "“pipe” has 1.00 MB, more than --max-filesize allows (50.0 kB)."
            : "“pipe” is longer than --max-filesize allows (50.0 kB)."
        #expect(lines.contains("purl: \(sentence)"))
        var bytes = [UInt8](repeating: 0, count: 1_000_000)
        let count = max(0, read(reader, &bytes, bytes.count))
        #expect(count == (hasLength ? 0 : 50_000))
        #expect(Self.content.data.starts(with: bytes.prefix(count)))
        #expect(server.requests.count == 1)
    }

    @Test("is interrupted while the FIFO has no reader, or one that takes nothing", arguments: [false, true])
    func interruption(hasReader: Bool) async throws {
        makePipe()
        let process = try PurlProcess(["get", url.absoluteString, "-o", "pipe"], in: folder)
        var lines = process.lines.makeAsyncIterator()
        #expect(await lines.next() == "pipe: downloading (1.00 MB)")
        let reader = hasReader ? open(folder.file("pipe").path, O_RDONLY | O_CLOEXEC) : -1
        process.signal(SIGINT)
        #expect(await process.exitCode == 130)
        if hasReader { close(reader) }
        #expect(folder.names == ["pipe"])
    }

    @Test(
        "finds out what the path leads to",
        arguments: [
            ("/dev/null", .path(URL(fileURLWithPath: "/dev/null"))), ("/dev/stdin", .descriptor(0)),
            ("/dev/stdout", .descriptor(1)), ("/dev/stderr", .descriptor(2)), ("/dev/fd/0", .descriptor(0)),
            ("/proc/self/fd/1", .descriptor(1)),
        ] as [(String, StreamOutput)])
    func streams(path: String, output: StreamOutput) throws {
        #expect(try OutputPath(at: URL(fileURLWithPath: path), name: path) == .stream(output))
        try link("link", to: path)
        let linked = try OutputPath(at: folder.file("link"), name: "link")
        if case .path = output {
            #expect(linked == .stream(.path(folder.file("link"))))
        } else {
            #expect(linked == .stream(output))
        }
    }

    // The system's own devices are not written to here: a purl that replaced what is at the path would replace them, where
    // the tests run as root.
    @Test("writes into a device, which stays one", .enabled(if: geteuid() == 0), arguments: ["device", "link"])
    func device(output: String) async throws {
        var status = stat()
        #expect(stat("/dev/null", &status) == 0)
        #expect(mknod(folder.file("device").path, S_IFCHR | 0o600, status.st_rdev) == 0)
        try link("link", to: "device")
        let (code, lines) = try await get(output)
        #expect(code == 0)
        #expect(lines.last?.hasPrefix("\(output): complete, 1.00 MB in ") == true)
        #expect(FileEntry(at: folder.file("device")) == .device)
        #expect(FileEntry(at: folder.file("link")) == .link)
        #expect(folder.names == ["device", "link"])
    }

    @Test("writes to an open descriptor, also by way of a link", arguments: ["/dev/fd/1", "link"])
    func descriptor(output: String) async throws {
        try link("link", to: "/dev/fd/1")
        let text = server.route("/text", .text("content\n"))
        let (code, lines) = try await PurlProcess.run(["get", text.absoluteString, "-o", output], in: folder)
        #expect(code == 0)
        #expect(lines.contains("content"))
        #expect(folder.names == ["link"])
    }

    @Test("appends to the file that standard output is")
    func redirectedOutput() async throws {
        try folder.write("before\n", to: "out")
        let text = server.route("/text", .text("content\n"))
        let command = "exec \"$0\" get \"$1\" -q -o /dev/fd/1 >> out"
        let process = try PurlProcess(shell: command, [text.absoluteString], in: folder)
        #expect(await process.exitCode == 0)
        #expect(folder.contents("out") == Data("before\ncontent\n".utf8))
        #expect(folder.names == ["out"])
    }

    // MARK: Links

    @Test("saves to the file that a link leads to, and resumes there")
    func link() async throws {
        try FileManager.default.createDirectory(at: folder.file("disk"), withIntermediateDirectories: false)
        try folder.write("old", to: "disk/film")
        try link("film", to: "disk/film")
        try link("again", to: folder.file("film").path)
        let cut = Reply.generated(Self.content).entityTag("\"v1\"").cut(afterBytes: 400_000, times: 1)
        server.route("/film.bin", cut)
        let target = folder.file("disk/film").resolvingSymlinksInPath().path
        let (lost, words) = try await get("film")
        #expect(lost == 1)
        #expect(words.first == "“film” is a symbolic link: saving as “\(target)”.")
        #expect(folder.names == ["again", "disk", "film"])
        #expect(folder.contents("disk/film") == Data("old".utf8))
        #expect(try await get("again").exitCode == 0)
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=400000-"])
        #expect(FileEntry(at: folder.file("film")) == .link)
        #expect(try Self.content.matches(fileAt: folder.file("disk/film")))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("disk").path) == ["film"])
    }

    @Test("refuses a link that leads to no file, a folder, and a socket")
    func refusals() async throws {
        try link("dangling", to: "nothing")
        try link("loop", to: "loop")
        try link("folder", to: ".")
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        try folder.bind(socket, to: "socket")
        for (output, sentence) in [
            ("dangling", "“dangling” is a symbolic link to “nothing”, which leads to no file."),
            ("loop", "“loop” is a symbolic link to “loop”, which leads to no file."),
            ("folder", "“folder” is a folder. Choose a name in it, “-o folder/NAME”, or another one with -o."),
            ("new/", "There is no folder “new/”."),
            ("socket", "“socket” is a socket, to which no file can be saved."),
            ("/dev/fd/987", "“/dev/fd/987” is not open."),
        ] {
            #expect(try await get(output) == (1, ["purl: " + sentence]))
        }
        #expect(server.requests.isEmpty)
        #expect(folder.names == ["dangling", "folder", "loop", "socket"])
    }

    @Test("says what to do where a folder has the name that the server chooses")
    func folderOfThatName() async throws {
        try FileManager.default.createDirectory(at: folder.file("film.bin"), withIntermediateDirectories: false)
        let (code, lines) = try await PurlProcess.run(["get", url.absoluteString], in: folder)
        #expect(code == 1)
        #expect(
            lines == [
                "purl: “film.bin” is a folder. Choose a name in it, “-o film.bin/NAME”, or another one with -o."
            ])
        #expect(
            try await PurlProcess.run(["get", url.absoluteString, "-o", "film.bin/NAME"], in: folder).exitCode == 0)
    }

    @Test("takes no link, FIFO or device for a free name when the server chooses it")
    func occupiedNames() async throws {
        try link("film.bin", to: "nothing")
        let (code, lines) = try await PurlProcess.run(["get", url.absoluteString], in: folder)
        #expect(code == 1)
        #expect(lines == ["purl: “film.bin” exists already. Choose a name with -o, or “-o film.bin” to replace it."])
        #expect(folder.names == ["film.bin"])
    }
}
