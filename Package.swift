// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Purl",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Purl", targets: ["Purl"]),
        .library(name: "PurlTesting", targets: ["PurlTesting"]),
        .executable(name: "purl", targets: ["PurlCommand"]),
    ],
    targets: [
        .target(name: "CLinux"),
        .target(name: "PurlHTTP", swiftSettings: [.strictMemorySafety()]),
        .target(name: "PurlIO", dependencies: [.target(name: "CLinux", condition: .when(platforms: [.linux]))]),
        .target(name: "Purl", dependencies: ["PurlHTTP", "PurlIO"]),
        .target(name: "PurlTesting", dependencies: ["PurlHTTP", "PurlIO"]),
        .executableTarget(name: "PurlCommand", dependencies: ["Purl", "PurlTesting", "PurlHTTP", "PurlIO"]),
        .testTarget(name: "PurlHTTPTests", dependencies: ["PurlHTTP"]),
        .testTarget(name: "PurlIOTests", dependencies: ["PurlIO"]),
        .testTarget(name: "PurlTestingTests", dependencies: ["PurlTesting", "PurlHTTP", "PurlIO"]),
        .testTarget(name: "PurlCommandTests", dependencies: ["PurlCommand", "PurlTesting"]),
        .testTarget(name: "PurlTests", dependencies: ["Purl", "PurlTesting", "PurlHTTP", "PurlIO"]),
    ],
    swiftLanguageModes: [.v6]
)
