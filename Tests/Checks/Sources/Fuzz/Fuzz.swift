import CFuzzer
import Foundation

/// Runs libFuzzer on one target: `Fuzz TARGET [libFuzzer's own options] [corpora or single inputs]`.
///
/// Processes that libFuzzer starts find the target in the environment. `Fuzz --list` prints the targets.
@main
enum Fuzz {
    private static let variable = "PURL_FUZZ_TARGET"

    /// The target chosen; read by the callback, which can carry nothing with it.
    private static let target: FuzzTarget? = {
        let name = CommandLine.arguments.dropFirst().first ?? ""
        return FuzzTarget.named(name) ?? ProcessInfo.processInfo.environment[variable].flatMap(FuzzTarget.named)
    }()

    static func main() {
        if CommandLine.arguments.contains("--list") {
            for target in FuzzTarget.all { print(target.name) }
            return
        }
        guard let target else {
            FileHandle.standardError.write(Data("Name a target; --list prints them.\n".utf8))
            exit(2)
        }
        setenv(variable, target.name, 1)
        var arguments = CommandLine.arguments
        if arguments.dropFirst().first == target.name { arguments.remove(at: 1) }
        var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var count = Int32(arguments.count)
        let status = pointers.withUnsafeMutableBufferPointer { buffer in
            var values = buffer.baseAddress
            return LLVMFuzzerRunDriver(&count, &values) { bytes, size in
                Fuzz.target?.run(Array(UnsafeBufferPointer(start: bytes, count: size)))
                return 0
            }
        }
        exit(status)
    }
}
