import Foundation

/// This program as a child process, which can be killed and started again.
@MainActor
public final class Child {
    private let identifier: pid_t
    private let input: FileHandle
    private let ended: AsyncStream<Void>

    /// Starts the program with these arguments. Its output is printed on `screen`, indented.
    public init(_ arguments: [String], on screen: Screen) throws {
        let input = Pipe()
        let output = Pipe()
        for end in [input.fileHandleForWriting, output.fileHandleForReading] {
            // Otherwise the next child would inherit the ends of these pipes.
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        let executable = Bundle.main.executablePath ?? CommandLine.arguments[0]
        let child = try Self.spawn(
            [executable] + arguments, input: input.fileHandleForReading.fileDescriptor,
            output: output.fileHandleForWriting.fileDescriptor)
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
        identifier = child
        self.input = input.fileHandleForWriting
        let (ended, end) = AsyncStream<Void>.makeStream()
        self.ended = ended
        let reader = output.fileHandleForReading.fileDescriptor
        Thread.detachNewThread { [output] in
            defer { withExtendedLifetime(output) {} }
            Self.readLines(from: reader) { line in
                DispatchQueue.main.async { screen.print("  | " + line) }
            }
            while waitpid(child, nil, 0) < 0, errno == EINTR {}
            DispatchQueue.main.async { end.finish() }
        }
    }

    /// Writes a line to its standard input.
    public func type(_ line: String) {
        try? input.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Kills it, as a crash or the out-of-memory killer would, and waits until it has ended.
    public func kill() async {
        _ = Foundation.kill(identifier, SIGKILL)
        await end()
    }

    /// Returns when it has ended and all its lines have been printed.
    public func end() async {
        for await _ in ended {}
    }

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
        let arguments = command.map { strdup($0) } + [nil]
        let environment = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var child = pid_t()
        let code = posix_spawn(&child, command[0], &actions, nil, arguments, environment)
        guard code == 0 else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(code)) }
        return child
    }

    private nonisolated static func readLines(from descriptor: Int32, _ handle: (String) -> Void) {
        var rest = Data()
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = read(descriptor, &buffer, buffer.count), count > 0 {
            rest.append(contentsOf: buffer[..<count])
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                handle(String(decoding: rest[..<end], as: UTF8.self))
                rest = Data(rest[rest.index(after: end)...])
            }
        }
    }
}
