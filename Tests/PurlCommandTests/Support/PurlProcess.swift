import Foundation

/// A run of the built executable.
///
/// It is spawned without `Foundation.Process`, which on Linux reads past the end of a directory buffer when a process
/// has as many descriptors open as this one has while other tests run beside it.
struct PurlProcess {
    /// The lines that it prints on both outputs, as they arrive; ends with the process.
    let lines: AsyncStream<String>

    private let identifier: pid_t
    private let exit: AsyncStream<Int32>

    /// Starts `purl` with these arguments.
    ///
    /// - Parameters:
    ///   - input: Its standard input.
    ///   - environment: Additional variables. The proxy variables of this process are removed.
    init(
        _ arguments: [String], in folder: TemporaryFolder, input: String = "", environment: [String: String] = [:]
    ) throws {
        try self.init(shell: "exec \"$0\" \"$@\"", arguments, in: folder, input: input, environment: environment)
    }

    /// Starts a command of the shell, to which `purl` is `$0`.
    init(
        shell command: String, _ arguments: [String], in folder: TemporaryFolder, input: String = "",
        environment: [String: String] = [:]
    ) throws {
        let (lines, toLines) = AsyncStream<String>.makeStream()
        let (exit, toExit) = AsyncStream<Int32>.makeStream()
        self.lines = lines
        self.exit = exit
        let (pipe, inputPipe) = (Pipe(), Pipe())
        // Short enough for the pipe's buffer.
        try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try inputPipe.fileHandleForWriting.close()
        let executable = try Self.executable().path
        // The shell changes to the folder and executes the program under the same identifier.
        let changes =
            [
                "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
                "NO_PROXY",
            ].flatMap { ["-u", $0] } + environment.map { "\($0)=\($1)" }
        let words =
            ["/bin/sh", "-c", "cd \"$0\" && exec env \"$@\"", folder.url.path] + changes
            + ["/bin/sh", "-c", command, executable] + arguments
        let child = try Self.spawn(
            words, input: inputPipe.fileHandleForReading.fileDescriptor,
            output: pipe.fileHandleForWriting.fileDescriptor)
        identifier = child
        try pipe.fileHandleForWriting.close()
        Self.read(pipe.fileHandleForReading, into: toLines)
        Thread.detachNewThread {
            var status: Int32 = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7F
            toExit.yield(signal == 0 ? (status >> 8) & 0xFF : -signal)
            toExit.finish()
        }
    }

    /// Runs `purl` to its end.
    static func run(
        _ arguments: [String], in folder: TemporaryFolder, input: String = "", environment: [String: String] = [:]
    ) async throws -> (exitCode: Int32, lines: [String]) {
        let process = try PurlProcess(arguments, in: folder, input: input, environment: environment)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        return (await process.exitCode, lines)
    }

    /// The exit code; negative when a signal ended the process.
    var exitCode: Int32 {
        get async {
            for await code in exit { return code }
            return .min
        }
    }

    func signal(_ number: Int32) {
        kill(identifier, number)
    }

    /// Starts a program whose two outputs go to `output`. Other descriptors that are closed on exec are not inherited.
    private static func spawn(_ command: [String], input: Int32, output: Int32) throws -> pid_t {
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
        let arguments = command.map { strdup($0) } + [nil]
        let environment = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var child = pid_t()
        let code = posix_spawn(&child, command[0], &actions, nil, arguments, environment)
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

    /// The executable lies beside the bundle or program that runs the tests.
    private static func executable() throws -> URL {
        let bundles = Bundle.allBundles.filter { $0.bundlePath.hasSuffix(".xctest") }.map(\.bundleURL)
        let places = bundles + [Bundle.main.executableURL, Bundle.main.bundleURL].compactMap(\.self)
        for place in places {
            for folder in [place, place.deletingLastPathComponent()] {
                let candidate = folder.appendingPathComponent("purl")
                if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            }
        }
        throw NotBuilt()
    }
}
