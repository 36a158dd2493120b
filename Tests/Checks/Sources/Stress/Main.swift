import Foundation

/// Finds races, lost calls and leaks: run it under the thread sanitizer, and under the address sanitizer.
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

    /// Puts what sessions share into folders of this run.
    private static func keepToItself() {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("purl-stress-user")
        try? FileManager.default.removeItem(at: folder)
        for name in ["XDG_CACHE_HOME", "XDG_DATA_HOME"] { setenv(name, folder.path, 1) }
    }
}

/// The options of the command line.
struct Options {
    var seconds = 10.0
    var seed: UInt64 = 1
    var threads = 8

    static let usage = "Stress [--seconds SECONDS] [--seed NUMBER] [--threads NUMBER]"

    init?(_ words: [String]) {
        guard words.count.isMultiple(of: 2) else { return nil }
        for index in stride(from: 0, to: words.count, by: 2) {
            switch (words[index], words[index + 1]) {
            case ("--seconds", let word):
                guard let number = Double(word), number > 0 else { return nil }
                seconds = number
            case ("--seed", let word):
                guard let number = UInt64(word) else { return nil }
                seed = number
            case ("--threads", let word):
                guard let number = Int(word), number > 0 else { return nil }
                threads = number
            default: return nil
            }
        }
    }
}
