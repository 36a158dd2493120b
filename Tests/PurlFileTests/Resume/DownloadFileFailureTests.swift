import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Downloads whose file cannot be made or written", .timeLimit(.minutes(5)))
struct DownloadFileFailureTests {
    private let sandbox = Sandbox()
    private let content = GeneratedContent(size: 300_000, seed: 3)

    /// Downloads into the folder and returns the error of the completion.
    private func fail(into folder: URL, from server: LoopbackServer) async -> (URLError?, [Witness.Event]) {
        let configuration = URLSessionConfiguration.default
        configuration.partialDownloadsDirectory = folder
        let witness = Witness()
        let session = URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
        let task = session.downloadTask(with: server.url("/file")).resumed()
        await witness.completion()
        session.invalidateAndCancel()
        return (witness.error(of: task), witness.events.filter { $0 != .invalid })
    }

    @Test("A partials folder below a file fails with a file error and its POSIX error")
    func belowFile() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        try Data("a file".utf8).write(to: sandbox.file("plain"))
        for place in ["plain", "plain/partials", "plain/deeper/partials"] {
            let (error, events) = await fail(into: sandbox.file(place), from: server)
            expectError(error, .cannotCreateFile, about: server.url("/file"))
            #expect(posixCode(error) == Int(ENOTDIR))
            #expect(error?.downloadTaskResumeData == nil)
            #expect(events == [.completed(.cannotCreateFile)])
        }
        #expect(try Data(contentsOf: sandbox.file("plain")) == Data("a file".utf8))
    }

    @Test("An unwritable partials folder fails with a file error and its POSIX error")
    func unwritable() async throws {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        let (error, _) = await fail(into: URL(fileURLWithPath: "/proc/purl/partials"), from: server)
        expectError(error, .cannotCreateFile, about: server.url("/file"))
        #expect(posixCode(error) != nil)
    }

    @Test("download(from:) throws the same error")
    func async() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content))
        try Data().write(to: sandbox.partials)
        let session = sandbox.session()
        let error = await #expect(throws: URLError.self) { try await session.download(from: url) }
        expectError(error, .cannotCreateFile, about: url)
    }

    @Test("A partials folder removed during the download fails it")
    func removedFolder() async throws {
        let gate = ServerGate()
        let server = try LoopbackServer()
        let stalled = Reply.generated(content).entityTag("\"v1\"").stalled(afterBytes: 100_000, until: gate)
        let url = server.route("/file", stalled)
        let witness = Witness()
        let task = sandbox.session(witness).downloadTask(with: url).resumed()
        await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
        try FileManager.default.removeItem(at: sandbox.partials)
        gate.open()
        await witness.completion()
        let error = witness.error(of: task)
        let codes: [URLError.Code?] = [.cannotCreateFile, .cannotOpenFile, .cannotWriteToFile]
        #expect(codes.contains(error?.code))
        #expect(error?.failingURL == url)
        #expect(posixCode(error) == Int(ENOENT))
        #expect(error?.downloadTaskResumeData == nil)
        #expect(!witness.events.contains(.file(300_000)) && !witness.events.contains(.file(0)))
    }

    @Test("A partials folder removed between downloads is made again")
    func recreatedFolder() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content))
        let session = sandbox.session()
        for _ in 0..<2 {
            let (file, _) = try await session.download(from: url)
            #expect(try content.matches(fileAt: file))
            try FileManager.default.removeItem(at: sandbox.partials)
        }
    }
}

/// A file system of 256 KiB in a folder of a sandbox, where mounting is allowed.
final class TinyDisk {
    let folder: URL
    /// Keeps the folder until the disk is unmounted.
    private let sandbox: Sandbox

    /// Whether tests that need one can run.
    static let isAvailable = getuid() == 0 && (try? TinyDisk(in: Sandbox(), "disk")) != nil

    init(in sandbox: Sandbox, _ name: String) throws {
        self.sandbox = sandbox
        folder = sandbox.file(name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try mount(flags: 0, size: "256k")
    }

    /// Enlarges the file system.
    func grow() throws {
        try mount(flags: UInt(MS_REMOUNT), size: "4m")
    }

    private func mount(flags: UInt, size: String) throws {
        guard Foundation.mount("tmpfs", folder.path, "tmpfs", flags, "size=\(size)") == 0 else {
            throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno))
        }
    }

    deinit { umount2(folder.path, Int32(MNT_DETACH)) }
}

@Suite("Downloads to a full disk", .timeLimit(.minutes(5)), .enabled(if: TinyDisk.isAvailable))
struct FullDiskTests {
    private let sandbox = Sandbox()

    @Test("A full disk fails the download with usable resume data")
    func fullDisk() async throws {
        let content = GeneratedContent(size: 400_000, seed: 3)
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).entityTag("\"v1\""))
        let disk = try TinyDisk(in: sandbox, "partials")
        let session = sandbox.session()
        let error = await #expect(throws: URLError.self) { try await session.download(from: url) }
        expectError(error, .cannotWriteToFile, about: url)
        #expect(posixCode(error) == Int(ENOSPC))
        if let blob = error?.downloadTaskResumeData {
            try disk.grow()
            let (file, _) = try await session.download(resumeFrom: blob)
            #expect(try content.matches(fileAt: file))
        } else {
            #expect(sandbox.partialNames == [])
        }
    }
}
