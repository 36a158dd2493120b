// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Purl",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Purl", targets: ["Purl"]),
        .library(name: "PurlTLS", targets: ["PurlTLS"]),
        .library(name: "PurlDownloads", targets: ["PurlDownloads"]),
        .library(name: "PurlTesting", targets: ["PurlTesting"]),
        .library(name: "PurlTrace", targets: ["PurlTrace"]),
        .library(name: "PurlSimulation", targets: ["PurlSimulation"]),
        .library(name: "PurlCommand", targets: ["PurlCommand"]),
        .executable(name: "purl", targets: ["PurlProgram"]),
    ],
    targets: [
        .target(name: "CLinux"),
        .target(name: "PurlHTTP", swiftSettings: [.strictMemorySafety()]),
        .target(name: "PurlIO", dependencies: [.target(name: "CLinux", condition: .when(platforms: [.linux]))]),
        .target(name: "PurlConnections", dependencies: ["PurlHTTP", "PurlIO"]),
        .target(name: "Purl", dependencies: ["PurlConnections", "PurlHTTP", "PurlIO"]),
        .target(name: "PurlOpenSSL"),
        .target(name: "PurlTLS", dependencies: ["Purl", "PurlOpenSSL"]),
        .target(name: "PurlDownloads", dependencies: ["Purl", "PurlHTTP", "PurlIO"]),
        .target(name: "PurlTesting", dependencies: ["PurlHTTP", "PurlIO", "PurlOpenSSL"]),
        .target(
            name: "PurlTrace", dependencies: ["Purl", "PurlHTTP"],
            resources: [.embedInCode("Page/player.js"), .embedInCode("Page/player.css")]),
        .target(name: "PurlSimulation", dependencies: ["Purl", "PurlTesting", "PurlTrace", "PurlIO"]),
        .target(
            name: "PurlCommand",
            dependencies: ["Purl", "PurlDownloads", "PurlTLS", "PurlTesting", "PurlTrace", "PurlHTTP", "PurlIO"]),
        .executableTarget(name: "PurlProgram", dependencies: ["PurlCommand"]),
        // All tests are one program; this tells it how many to run at a time, lets it open enough files, and pass none of them
        // on to the programs that it starts, and keeps its temporary ones in memory.
        .target(name: "TestProcess", path: "Tests/TestProcess"),
        .testTarget(name: "PurlHTTPTests", dependencies: ["PurlHTTP", "TestProcess"]),
        .testTarget(name: "PurlIOTests", dependencies: ["PurlIO"]),
        .testTarget(name: "PurlConnectionsTests", dependencies: ["PurlConnections", "PurlIO"]),
        .testTarget(
            name: "PurlTestingTests", dependencies: ["PurlTesting", "Purl", "PurlTLS", "PurlHTTP", "PurlIO"]),
        // Sessions and tasks, in several targets: the compiler takes longer for one that large than for all of these.
        .target(
            name: "SessionFixtures",
            dependencies: ["Purl", "PurlSimulation", "PurlTesting", "PurlHTTP", "PurlIO", "Faults"],
            path: "Tests/SessionFixtures"),
        sessionTests("PurlTests", needs: ["PurlConnections", "PurlHTTP", "PurlSimulation", "Faults"]),
        sessionTests("PurlBackgroundTests", needs: ["PurlConnections", "Faults"]),
        sessionTests("PurlDeliveryTests", needs: ["PurlConnections", "Faults"]),
        sessionTests("PurlFileTests", needs: ["PurlConnections", "PurlSimulation"]),
        sessionTests("PurlMessageTests", needs: ["PurlHTTP"]),
        sessionTests(
            "PurlNetworkTests", needs: ["PurlTLS", "PurlConnections", "PurlHTTP", "PurlSimulation", "Faults"]),
        sessionTests("PurlStreamTests", needs: ["PurlSimulation"]),
        sessionTests("PurlUploadTests", needs: ["PurlConnections", "PurlSimulation"]),
        // A client over PurlTLS and a server, in memory: for a test suite, and for a program of Tests/Checks.
        .target(
            name: "MemoryTLS", dependencies: ["PurlTLS", "PurlOpenSSL", "Purl", "PurlTesting"], path: "Tests/MemoryTLS"),
        .testTarget(
            name: "PurlTLSTests", dependencies: ["MemoryTLS", "PurlTLS", "PurlOpenSSL", "Purl", "PurlTesting"]),
        .testTarget(
            name: "PurlDownloadsTests", dependencies: ["PurlDownloads", "Purl", "PurlTesting", "PurlHTTP", "PurlIO"]),
        .testTarget(name: "PurlTraceTests", dependencies: ["PurlTrace", "Purl", "PurlTesting"]),
        .testTarget(
            name: "PurlSimulationTests",
            dependencies: [
                "PurlSimulation", "Scenarios", "PurlDownloads", "Purl", "PurlTesting", "PurlHTTP", "PurlIO",
            ]),
        // Programs in simulations, and what has to hold of them: for a test suite, and for a program of Tests/Checks.
        .target(
            name: "Scenarios", dependencies: ["PurlSimulation", "PurlDownloads", "Purl", "PurlHTTP", "PurlTesting"],
            path: "Tests/Scenarios"),
        .testTarget(
            name: "PurlCommandTests", dependencies: ["PurlCommand", "Purl", "PurlIO", "PurlTesting", "TestProcess"]),
        // Every way to fail, with every kind of task: data for a test suite, and for a program of Tests/Checks.
        .target(
            name: "Faults",
            dependencies: ["Purl", "PurlSimulation", "PurlTLS", "PurlTesting", "PurlTrace", "PurlHTTP", "PurlIO"],
            path: "Tests/Faults"),
        // The examples, each with its page.
        .target(name: "ExampleStage", path: "Examples/Stage"),
        // The README's programs.
        .executableTarget(
            name: "FirstDownload", dependencies: ["Purl"], path: "Examples/FirstDownload", exclude: ["README.md"]),
        .executableTarget(name: "SurvivingDownload", dependencies: ["Purl"], path: "Examples/SurvivingDownload"),
        example("PauseAndResume", showing: "Purl"),
        example("BackgroundDownload", showing: "Purl"),
        example("DataTaskToFile", showing: "Purl"),
        example("DownloadCenter", showing: "PurlDownloads"),
        example("OfflineResume", showing: "Purl"),
        example("ResumableUpload", showing: "Purl"),
        example("UnluckyOrders", showing: "PurlSimulation"),
        .executableTarget(
            name: "TLS", dependencies: ["Purl", "PurlTLS"], path: "Examples/TLS", exclude: ["README.md"]),
        .testTarget(
            name: "ExamplesTests",
            dependencies: [
                "FirstDownload", "SurvivingDownload", "PauseAndResume", "BackgroundDownload", "DataTaskToFile",
                "DownloadCenter", "OfflineResume", "ResumableUpload", "UnluckyOrders", "PurlTesting", "PurlIO",
                "TestProcess",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// These are optimised in a debug build, too, also in that of a program that uses Purl: without that the loops over bytes of
// PurlHTTP are a third of the time that the tests take, and the others a quarter. `PURL_UNOPTIMISED=1` leaves the client as it
// is, for a debugger that steps through it, and where the compiler would take longer for it than it gains. The loops stay
// optimised: under a sanitizer they would hold everything else up.
let alwaysOptimised = ["PurlHTTP", "PurlTesting"]
let optimised =
    Context.environment["PURL_UNOPTIMISED"] != nil
    ? alwaysOptimised
    : alwaysOptimised + ["PurlIO", "PurlConnections", "Purl", "PurlDownloads", "PurlSimulation", "SessionFixtures"]
for target in package.targets where optimised.contains(target.name) {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]
}

let isForCI = Context.environment["PURL_CI"] != nil

// The compiler expands the macros of all tests of a target once for each batch of files. It makes as many batches as there
// are processors, but none of more than 25 files, which would be eight for the largest suite.
for target in package.targets where target.type == .test && !isForCI {
    target.swiftSettings = [.unsafeFlags(["-driver-batch-size-limit", "200"], .when(configuration: .debug))]
}

// The programs of Tests/Checks, for those who check the package, and with them the fuzzing targets. `README.md` there says
// how to build them.
if Context.environment["PURL_CHECKS"] != nil {
    package.targets += [
        // What a process has open, before and after. `Stress` is built twice more, for sanitizers: it needs no more than this.
        .target(name: "Census", path: "Tests/Census"),
        check("FaultMatrix", needs: ["Census", "Faults", "PurlSimulation"]),
        check("Seeds", needs: ["Scenarios", "PurlSimulation"]),
        check("Stress", needs: ["Purl", "PurlTLS", "PurlTesting", "PurlIO", "Census"]),
        check("CrashSubject", needs: ["Purl", "PurlDownloads", "PurlTesting"]),
        check("ConversationSubject", needs: ["Purl", "PurlTesting"]),
        check("TLSSubject", needs: ["Purl", "PurlTLS"]),
        check("HandshakeLoad", needs: ["Purl", "PurlTLS"]),
        check("TLSEndurance", needs: ["MemoryTLS", "Purl", "PurlTLS", "PurlTesting"]),
        // One source, two programs, to be compared with each other.
        check("ScenariosWithPurl", needs: ["Purl", "PurlTesting"], swiftSettings: [.define("PURL")]),
        check("ScenariosWithFoundationNetworking", needs: ["PurlTesting"]),
        // Likewise; some need more than FoundationNetworking has.
        check("ProgramsWithPurl", needs: ["Purl", "PurlTesting"], swiftSettings: [.define("PURL")]),
        check(
            "ProgramsWithFoundationNetworking", needs: ["PurlTesting"],
            exclude: ["EventStreamReader.swift", "SequenceUpload.swift", "TaskLogger.swift"]),
        // Likewise, for the table of clients.
        check("ResumingWithPurl", needs: ["Purl", "PurlDownloads"], swiftSettings: [.define("PURL")]),
        check("ResumingWithFoundationNetworking", exclude: ["DownloaderAttempt.swift"]),
        // What the laboratory's module for WebAssembly is compared with.
        .executableTarget(
            name: "LaboratoryVerdicts", dependencies: ["PurlHTTP"], path: "Examples/Laboratory/Sources",
            exclude: ["WebAssembly"]),
    ]
}

// For the place of a crash the compiler need not describe every variable. The frontend takes this after SwiftPM's own `-g`.
let onlyLines = ["-Xfrontend", "-gline-tables-only"]

if let sanitizer = Context.environment["PURL_FUZZ"] {
    // Counts which branches are taken and what is compared; `-enable-testing` for what has no access level.
    // The compiler counts only where there is a sanitizer; that of the fuzzer adds nothing else.
    let instrumented = SwiftSetting.unsafeFlags(
        [
            "-enable-testing", "-sanitize-coverage=edge,indirect-calls,trace-cmp,inline-8bit-counters,pc-table",
        ] + onlyLines + (sanitizer == "none" ? ["-sanitize=fuzzer"] : []))
    let fuzzed = ["PurlHTTP", "PurlIO", "PurlConnections", "Purl", "PurlDownloads", "PurlTesting", "PurlTrace"]
    for target in package.targets where fuzzed.contains(target.name) {
        target.swiftSettings = (target.swiftSettings ?? []) + [instrumented]
    }
    // `Fuzzing/run` builds them, with what else the linker needs.
    package.targets += [
        .target(name: "CFuzzer", path: "Tests/Checks/Sources/CFuzzer"),
        check("Fuzz", needs: ["CFuzzer"] + fuzzed.map { .init(stringLiteral: $0) }),
    ]
}

// For CI warnings stop the build. All is compiled once there, and is made for that: the files of a target are compiled together,
// which looks at each and expands each macro once.
if isForCI {
    let flags = ["-whole-module-optimization", "-num-threads", "2", "-no-emit-module-separately-wmo"] + onlyLines
    for target in package.targets {
        target.swiftSettings =
            (target.swiftSettings ?? []) + [
                .treatAllWarnings(as: .error), .unsafeFlags(flags, .when(configuration: .debug)),
            ]
    }
}

// What is built like this counts which lines of the library it runs.
if Context.environment["PURL_COVERAGE"] != nil {
    // Those for which `.ci/coverage` has a floor.
    let counted = ["PurlHTTP", "PurlIO", "PurlConnections", "Purl"]
    for target in package.targets {
        if counted.contains(target.name) {
            target.swiftSettings =
                (target.swiftSettings ?? []) + [
                    .unsafeFlags(["-profile-generate", "-profile-coverage-mapping"], .when(configuration: .debug))
                ]
        }
        target.linkerSettings = [.unsafeFlags(["-profile-generate"], .when(configuration: .debug))]
    }
}

func sessionTests(_ name: String, needs dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: ["SessionFixtures", "Purl", "PurlTesting", "PurlIO"] + dependencies)
}

func example(_ name: String, showing library: Target.Dependency) -> Target {
    .executableTarget(
        name: name, dependencies: [library, "PurlTesting", "ExampleStage"], path: "Examples/\(name)",
        exclude: ["README.md"])
}

func check(
    _ name: String, needs dependencies: [Target.Dependency] = [], exclude: [String] = [],
    swiftSettings: [SwiftSetting]? = nil
) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Tests/Checks/Sources/\(name)", exclude: exclude,
        swiftSettings: swiftSettings)
}
