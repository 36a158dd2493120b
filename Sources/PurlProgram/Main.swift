import Foundation
import PurlCommand

/// The executable `purl`.
@main
enum Main {
    static func main() async {
        exit(await CommandLineTool().run(Array(CommandLine.arguments.dropFirst())))
    }
}
