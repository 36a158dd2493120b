// swift-tools-version: 6.2
import PackageDescription

// The lessons are a package of their own: an exercise does not compile the library's tests, and the library's
// tests do not compile the lessons.
let package = Package(
    name: "Learning",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    dependencies: [.package(name: "purl", path: "../..")],
    targets: [
        .target(
            name: "LearningExercises", dependencies: [.product(name: "Purl", package: "purl")], path: ".",
            exclude: [
                "Documentation", "Gallery", "Knives", "Learning.docc", "Lessons", "Pages", "README.md", "Relaunch",
                "Stage", "Tests", "main.swift", "site",
            ],
            sources: ["Exercises", "Solutions"]),
        // A process that was killed, for a lesson and for its exercise.
        .target(name: "Relaunch", dependencies: [.product(name: "Purl", package: "purl")], path: "Relaunch"),
        .testTarget(
            name: "ExercisesTests",
            dependencies: [
                "LearningExercises", "Relaunch", .product(name: "PurlSimulation", package: "purl"),
                .product(name: "PurlTesting", package: "purl"),
            ],
            path: "Tests/Exercises"),
    ],
    swiftLanguageModes: [.v6]
)

// Who does an exercise compiles what its test needs, and no lessons.
if Context.environment["EXERCISES"] != "mine" {
    package.targets += [
        .executableTarget(
            name: "Learning",
            dependencies: [
                .product(name: "Purl", package: "purl"), .product(name: "PurlDownloads", package: "purl"),
                .product(name: "PurlSimulation", package: "purl"), .product(name: "PurlTesting", package: "purl"),
                .product(name: "PurlTrace", package: "purl"),
                "Relaunch",
            ],
            path: ".",
            exclude: [
                "Exercises", "Gallery", "README.md", "Relaunch", "Solutions", "Tests", "site", "Pages/site.css",
                "Pages/site.js",
            ],
            sources: ["Documentation", "Knives", "Lessons", "Pages", "Stage", "main.swift"]),
        .testTarget(name: "LearningTests", dependencies: ["Learning"], path: "Tests", exclude: ["Exercises"]),
    ]
}

// Expands the macros of all tests once, as in the library's own manifest.
for target in package.targets where target.type == .test {
    target.swiftSettings = [.unsafeFlags(["-driver-batch-size-limit", "200"], .when(configuration: .debug))]
}

// For those who change the lessons: warnings stop the build.
if Context.environment["PURL_CI"] != nil {
    for target in package.targets {
        target.swiftSettings = (target.swiftSettings ?? []) + [.treatAllWarnings(as: .error)]
    }
}
