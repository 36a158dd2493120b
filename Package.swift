// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Purl",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    targets: [
        .target(name: "PurlHTTP", swiftSettings: [.strictMemorySafety()]),
        .testTarget(name: "PurlHTTPTests", dependencies: ["PurlHTTP"]),
    ],
    swiftLanguageModes: [.v6]
)
