import Foundation
public import Purl

/// The command line `purl`, for its executable and for those of other packages that add to it.
public struct CommandLineTool {
    private let makeConfiguration: @Sendable () -> URLSessionConfiguration

    /// - Parameter configuration: Makes the configuration to which a command applies its options. Its
    ///   ``Purl/URLSessionConfiguration/tlsProvider`` loads `https`, unless the command has an option of TLS; where it has
    ///   none, the system's OpenSSL does.
    public init(configuration: @escaping @Sendable () -> URLSessionConfiguration = { .default }) {
        makeConfiguration = configuration
    }

    /// Runs a command to its end, with the process's standard output and error.
    ///
    /// - Parameter arguments: The words after the program's name.
    /// - Returns: The exit status.
    public func run(_ arguments: [String]) async -> Int32 {
        StandardDescriptors.fillGaps()
        let (output, errors) = (Console(STDOUT_FILENO), Console(STDERR_FILENO))
        let code = await code(of: arguments, output, errors)
        guard let failure = output.failure else { return code.rawValue }
        errors.print("purl: Standard output cannot be written: \(failure).")
        return (code == .success ? .failure : code).rawValue
    }

    private func code(of words: [String], _ output: Console, _ errors: Console) async -> ExitCode {
        do throws(UsageError) {
            try checkText(words)
            let command = try Command(arguments: words)
            let events = command.printsEvents ? EventLog(output) : nil
            let code = await run(command, output: output, errors: errors, events)
            events?.write(.end(code))
            return code
        } catch {
            // Programs that read events find out what is wrong with their command lines, too.
            guard words.prefix(while: { $0 != "--" }).contains("--json") else {
                errors.print("purl: \(error.line)")
                return .usage
            }
            let events = EventLog(output)
            events.write(.text(.error, error.line))
            events.write(.end(.usage))
            return .usage
        }
    }

    /// Throws for a word that is not text: Swift has replaced what in it is not UTF-8, so it would name another file.
    private func checkText(_ words: [String]) throws(UsageError) {
        let arguments = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        guard let word = words.first(where: { $0.unicodeScalars.contains("\u{FFFD}") }),
            arguments.contains(where: { $0.map { String(validatingCString: $0) == nil } ?? false })
        else { return }
        throw UsageError("“\(word)” is not UTF-8 text.")
    }

    private func run(
        _ command: Command, output: Console, errors: Console, _ events: EventLog?
    ) async -> ExitCode {
        switch command {
        case .print(let text):
            output.print(text)
            return .success
        case .demo(let options):
            return await Demo(console: output, trace: options.trace).run()
        case .get(let options):
            return await Get(options, console: errors, events: events, configuration: makeConfiguration).run()
        case .put(let options):
            return await Put(
                options, output: output, errors: errors, events: events, configuration: makeConfiguration
            ).run()
        case .ws(let options):
            return await WebSocketClient(
                options, output: output, errors: errors, events: events, configuration: makeConfiguration
            ).run()
        case .serve(let options):
            return await Serve(options, output: output, errors: errors).run()
        case .trace(let options):
            return ShowTrace(options, output: output, errors: errors).run()
        case .list(let options):
            return List(options, output: output, errors: errors, events: events).run()
        case .check(let options):
            return await Check(options, output: output, errors: errors, events: events).run()
        case .clean(let options):
            return await Clean(
                options, output: output, errors: errors, events: events, configuration: makeConfiguration
            ).run()
        }
    }
}
