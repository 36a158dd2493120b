import Foundation

/// Looks for races, lost calls and leaks: run it under the thread sanitizer, and under the address sanitizer.
@main
enum Main {
    static func main() async {
        guard let options = Options(Array(CommandLine.arguments.dropFirst())) else {
            print(Options.usage)
            exit(2)
        }
        keepToItself()
        let isClean = await Stress(options: options).run()
        // A sanitizer may end the process before the rest is written.
        fflush(nil)
        exit(isClean ? 0 : 1)
    }

    /// What sessions share is kept in folders of this run.
    private static func keepToItself() {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("purl-stress-user")
        try? FileManager.default.removeItem(at: folder)
        for name in ["XDG_CACHE_HOME", "XDG_DATA_HOME"] { setenv(name, folder.path, 1) }
    }
}
