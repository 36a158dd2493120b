// swift-tools-version: 6.2
import PackageDescription

// Programs that check the library and are no test suites; `README.md` beside this file names them.
//
// The library's targets are links to its sources, so that they are part of this package: that makes what has `package`
// access reachable, and lets a sanitizer or a fuzzer instrument them without an entry in the library's own manifest.
let package = Package(
    name: "Checks",
    platforms: [.macOS(.v15)],
    targets: [
        .target(name: "CLinux"),
        .target(name: "PurlHTTP"),
        .target(name: "PurlIO", dependencies: [.target(name: "CLinux", condition: .when(platforms: [.linux]))]),
        .target(name: "Purl", dependencies: ["PurlHTTP", "PurlIO"]),
        .target(name: "PurlDownloads", dependencies: ["Purl", "PurlHTTP"]),
        .target(name: "PurlTesting", dependencies: ["PurlHTTP", "PurlIO"]),
        .target(name: "PurlTrace", dependencies: ["Purl"]),
        .target(name: "Faults", dependencies: ["Purl", "PurlTesting", "PurlTrace", "PurlHTTP", "PurlIO"]),
        .executableTarget(name: "FaultMatrix", dependencies: ["Faults"]),
        .executableTarget(name: "Stress", dependencies: ["Purl", "PurlTesting", "PurlIO", "Faults"]),
        .executableTarget(name: "CrashSubject", dependencies: ["Purl", "PurlDownloads", "PurlTesting"]),
        .executableTarget(name: "ConversationSubject", dependencies: ["Purl", "PurlTesting"]),
        // One source, two programs, to be compared with each other.
        .executableTarget(
            name: "ScenariosWithPurl", dependencies: ["Purl", "PurlTesting"], swiftSettings: [.define("PURL")]),
        .executableTarget(name: "ScenariosWithFoundationNetworking", dependencies: ["PurlTesting"]),
        // Likewise; some need more than FoundationNetworking has.
        .executableTarget(
            name: "ProgramsWithPurl", dependencies: ["Purl", "PurlTesting"], swiftSettings: [.define("PURL")]),
        .executableTarget(
            name: "ProgramsWithFoundationNetworking", dependencies: ["PurlTesting"],
            exclude: ["EventStreamReader.swift", "SequenceUpload.swift", "TaskLogger.swift"]),
        // Likewise, for the table of clients.
        .executableTarget(
            name: "ResumingWithPurl", dependencies: ["Purl", "PurlDownloads"], swiftSettings: [.define("PURL")]),
        .executableTarget(name: "ResumingWithFoundationNetworking", exclude: ["DownloaderAttempt.swift"]),
    ],
    swiftLanguageModes: [.v6]
)

if let sanitizer = Context.environment["PURL_FUZZ"] {
    // Counts which branches are taken and what is compared; `-enable-testing` for what has no access level.
    // The compiler counts only where there is a sanitizer; that of the fuzzer adds nothing else.
    let instrumented = SwiftSetting.unsafeFlags(
        [
            "-enable-testing", "-sanitize-coverage=edge,indirect-calls,trace-cmp,inline-8bit-counters,pc-table",
        ] + (sanitizer == "none" ? ["-sanitize=fuzzer"] : []))
    let fuzzed = ["PurlHTTP", "PurlIO", "Purl", "PurlDownloads", "PurlTesting", "PurlTrace"]
    for target in package.targets where fuzzed.contains(target.name) {
        target.swiftSettings = [instrumented]
    }
    // `Fuzzing/run` builds them, with what else the linker needs.
    package.targets += [
        .target(name: "CFuzzer"),
        .executableTarget(
            name: "Fuzz",
            dependencies: ["CFuzzer", "PurlHTTP", "PurlIO", "Purl", "PurlDownloads", "PurlTesting", "PurlTrace"]),
    ]
} else if Context.environment["PURL_CI"] != nil {
    for target in package.targets {
        target.swiftSettings = (target.swiftSettings ?? []) + [.treatAllWarnings(as: .error)]
    }
}
