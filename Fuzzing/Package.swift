// swift-tools-version: 6.2
import PackageDescription

// The library's targets are links to its sources, so that they are part of this package: that makes what has `package`
// access reachable, and lets them be built with the fuzzer's instructions without a word about it in the library's
// manifest. `run` builds this package and knows what else the linker needs.

/// Counts which branches are taken and what is compared; `-enable-testing` for what has no access level.
let instrumented: [SwiftSetting] = [
    .unsafeFlags([
        "-enable-testing", "-sanitize-coverage=edge,indirect-calls,trace-cmp,inline-8bit-counters,pc-table",
    ])
]

let package = Package(
    name: "Fuzzing",
    platforms: [.macOS(.v15)],
    targets: [
        .target(name: "CLinux"),
        .target(name: "PurlHTTP", swiftSettings: instrumented),
        .target(name: "PurlIO", dependencies: ["CLinux"], swiftSettings: instrumented),
        .target(name: "Purl", dependencies: ["PurlHTTP", "PurlIO"], swiftSettings: instrumented),
        .target(name: "PurlDownloads", dependencies: ["Purl", "PurlHTTP", "PurlIO"], swiftSettings: instrumented),
        .target(name: "CFuzzer"),
        .executableTarget(name: "Fuzz", dependencies: ["CFuzzer", "PurlHTTP", "PurlIO", "Purl", "PurlDownloads"]),
    ],
    swiftLanguageModes: [.v6]
)
