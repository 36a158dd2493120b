import Foundation
import PurlIO
import TestProcess

/// A run of a built example, in a folder that is also its cache.
///
/// It is spawned without `Foundation.Process`, which on Linux reads past the end of a directory buffer when a process
/// has as many descriptors open as this one has while other tests run beside it.
struct ExampleProcess {
    /// The lines that it prints, as they arrive; ends with the process.
    let lines: AsyncStream<String>

    private let identifier: pid_t
    private let input: FileHandle
    private let exit: AsyncStream<Int32>

    /// Starts the example called `name`.
    ///
    /// - Parameter proxy: The proxy of its `http` URLs.
    init(_ name: String, _ arguments: [String] = [], in folder: TemporaryFolder, proxy: URL? = nil) throws {
        let (lines, toLines) = AsyncStream<String>.makeStream()
        let (exit, toExit) = AsyncStream<Int32>.makeStream()
        self.lines = lines
        self.exit = exit
        let output = Pipe()
        let input = Pipe()
        self.input = input.fileHandleForWriting
        for end in [input.fileHandleForWriting, output.fileHandleForReading] {
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        // The shell changes to the folder and executes the program.
        let command = ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", folder.url.path, try Self.executable(name).path]
        var environment = ["XDG_CACHE_HOME": folder.url.path, "XDG_DATA_HOME": folder.url.path]
        if let proxy { environment["http_proxy"] = proxy.absoluteString }
        let child = try Self.spawn(
            command + arguments, environment: environment,
            input: input.fileHandleForReading.fileDescriptor, output: output.fileHandleForWriting.fileDescriptor)
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
        identifier = child
        Self.read(output.fileHandleForReading, into: toLines)
        Thread.detachNewThread {
            var status: Int32 = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7F
            toExit.yield(signal == 0 ? (status >> 8) & 0xFF : -signal)
            toExit.finish()
        }
    }

    /// Runs an example to its end.
    ///
    /// - Parameter typed: The first lines of its standard input, which stays open.
    static func run(
        _ name: String, _ arguments: [String] = [], typed: [String] = [], in folder: TemporaryFolder
    ) async throws -> (exitCode: Int32, lines: [String]) {
        let process = try ExampleProcess(name, arguments, in: folder)
        for line in typed { process.type(line) }
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        return (await process.exitCode, lines)
    }

    func signal(_ number: Int32) { kill(identifier, number) }

    /// Writes a line to its standard input. A process that has ended must not end this one.
    func type(_ line: String) {
        try? BrokenPipe.withoutSignal { try input.write(contentsOf: Data((line + "\n").utf8)) }
    }

    /// The exit code; negative when a signal ended the process.
    var exitCode: Int32 {
        get async {
            for await code in exit { return code }
            return .min
        }
    }

    /// Starts a program whose two outputs go to `output`, and which inherits no other descriptor.
    private static func spawn(
        _ command: [String], environment: [String: String], input: Int32, output: Int32
    ) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
        testProcessClosesOthers(&actions)
        let environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        let words = command.map { strdup($0) } + [nil]
        let settings = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + settings { free(text) } }
        var child = pid_t()
        let code = posix_spawn(&child, command[0], &actions, nil, words, settings)
        guard code == 0 else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(code)) }
        return child
    }

    private static func read(_ handle: FileHandle, into lines: AsyncStream<String>.Continuation) {
        Thread.detachNewThread {
            var rest = Data()
            while case let data = handle.availableData, !data.isEmpty {
                rest.append(data)
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    lines.yield(String(decoding: rest[..<end], as: UTF8.self))
                    rest = Data(rest[rest.index(after: end)...])
                }
            }
            if !rest.isEmpty { lines.yield(String(decoding: rest, as: UTF8.self)) }
            lines.finish()
        }
    }

    private struct NotBuilt: Error {}

    /// The executables lie beside the bundle or program that runs the tests.
    private static func executable(_ name: String) throws -> URL {
        let bundles = Bundle.allBundles.filter { $0.bundlePath.hasSuffix(".xctest") }.map(\.bundleURL)
        let places = bundles + [Bundle.main.executableURL, Bundle.main.bundleURL].compactMap(\.self)
        for place in places {
            for folder in [place, place.deletingLastPathComponent()] {
                let candidate = folder.appendingPathComponent(name)
                if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            }
        }
        throw NotBuilt()
    }
}
