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
        return await code(of: arguments).rawValue
    }

    private func code(of words: [String]) async -> ExitCode {
        let output = Console(STDOUT_FILENO)
        let errors = Console(STDERR_FILENO)
        do throws(UsageError) {
            switch try Command(arguments: words) {
            case .print(let text):
                output.print(text)
                return .success
            case .demo(let options):
                return await Demo(console: output, trace: options.trace).run()
            case .get(let options):
                return await Get(options, console: errors, configuration: makeConfiguration).run()
            case .put(let options):
                return await Put(options, output: output, errors: errors, configuration: makeConfiguration).run()
            case .ws(let options):
                return await WebSocketClient(options, output: output, errors: errors, configuration: makeConfiguration)
                    .run()
            case .serve(let options):
                return await Serve(options, output: output, errors: errors).run()
            case .trace(let options):
                return ShowTrace(options, output: output, errors: errors).run()
            case .list(let options):
                return List(options, output: output, errors: errors).run()
            case .clean(let options):
                return await Clean(options, output: output, errors: errors, configuration: makeConfiguration).run()
            }
        } catch {
            errors.print("purl: \(error.line)")
            return .usage
        }
    }
}
