import Foundation

/// The executable `purl`.
@main
enum Main {
    static func main() async {
        let code = await run(Array(CommandLine.arguments.dropFirst()))
        exit(code.rawValue)
    }

    private static func run(_ words: [String]) async -> ExitCode {
        let output = Console(STDOUT_FILENO)
        let errors = Console(STDERR_FILENO)
        do throws(UsageError) {
            switch try Command(arguments: words) {
            case .help(let topic):
                output.say(topic.text)
                return .success
            case .version:
                output.say("purl \(Usage.version)")
                return .success
            case .demo:
                return await Demo(console: output).run()
            case .get(let options):
                return await Get(options, console: errors).run()
            case .ws(let options):
                return await Talk(options, output: output, errors: errors).run()
            case .list(let options):
                return List(options, output: output, errors: errors).run()
            case .clean(let options):
                return Clean(options, output: output, errors: errors).run()
            }
        } catch {
            errors.say("purl: \(error.sentence)")
            errors.say("")
            errors.say(error.topic.text)
            return .usage
        }
    }
}
