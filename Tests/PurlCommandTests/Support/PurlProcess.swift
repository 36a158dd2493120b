import Foundation
import TestProcess

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

    /// Starts `purl` on a terminal, which is its controlling one. `lines` stays empty.
    ///
    /// - Parameter terminal: The terminal's path.
    init(
        terminal: String, _ arguments: [String], in folder: TemporaryFolder, environment: [String: String]
    ) throws {
        let (lines, toLines) = AsyncStream<String>.makeStream()
        toLines.finish()
        self.lines = lines
        let words = try Self.words("exec \"$0\" \"$@\"", arguments, in: folder, environment)
        (identifier, exit) = Self.waiting(for: try Self.spawn(words, .terminal(terminal)))
    }

    /// Starts a command of the shell, to which `purl` is `$0`.
    init(
        shell command: String, _ arguments: [String], in folder: TemporaryFolder, input: String = "",
        environment: [String: String] = [:]
    ) throws {
        let (lines, toLines) = AsyncStream<String>.makeStream()
        self.lines = lines
        let (pipe, inputPipe) = (Pipe(), Pipe())
        // Short enough for the pipe's buffer.
        try inputPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try inputPipe.fileHandleForWriting.close()
        let words = try Self.words(command, arguments, in: folder, environment)
        let child = try Self.spawn(
            words,
            .pipes(
                input: inputPipe.fileHandleForReading.fileDescriptor,
                output: pipe.fileHandleForWriting.fileDescriptor))
        try pipe.fileHandleForWriting.close()
        Self.read(pipe.fileHandleForReading, into: toLines)
        (identifier, exit) = Self.waiting(for: child)
    }

    /// A shell in the folder, with the variables that `purl` is to have, runs the command.
    private static func words(
        _ command: String, _ arguments: [String], in folder: TemporaryFolder, _ environment: [String: String]
    ) throws -> [String] {
        let script = """
            cd "$1" || exit
            unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY
            until shift && [ "$1" = -- ]; do export "$1"; done
            shift
            \(command)
            """
        return ["/bin/sh", "-c", script, try executable().path, folder.url.path]
            + environment.map { "\($0)=\($1)" } + ["--"] + arguments
    }

    private static func waiting(for child: pid_t) -> (pid_t, AsyncStream<Int32>) {
        let (exit, toExit) = AsyncStream<Int32>.makeStream()
        Thread.detachNewThread {
            var status: Int32 = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7F
            toExit.yield(signal == 0 ? (status >> 8) & 0xFF : -signal)
            toExit.finish()
        }
        return (child, exit)
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

    /// What a program's standard input and its two outputs are.
    private enum Descriptors {
        case pipes(input: Int32, output: Int32)
        /// A terminal by its path, which becomes that of a new session.
        case terminal(String)
    }

    /// Starts a program, which inherits no other descriptor.
    private static func spawn(_ command: [String], _ descriptors: Descriptors) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        #if canImport(Darwin)
            var attributes: posix_spawnattr_t?
        #else
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        switch descriptors {
        case .pipes(let input, let output):
            posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
            posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
            posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
        case .terminal(let path):
            posix_spawnattr_setflags(&attributes, startsSession)
            // The first terminal that the leader of a session opens becomes its controlling one.
            for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
                posix_spawn_file_actions_addopen(&actions, descriptor, path, O_RDWR, 0)
            }
        }
        testProcessClosesOthers(&actions)
        let arguments = command.map { strdup($0) } + [nil]
        let environment = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var child = pid_t()
        let code = posix_spawn(&child, command[0], &actions, &attributes, arguments, environment)
        guard code == 0 else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(code)) }
        return child
    }

    /// POSIX_SPAWN_SETSID, which the Glibc module lacks.
    private static let startsSession: Int16 = {
        #if canImport(Darwin)
            0x400
        #else
            0x80
        #endif
    }()

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
