// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "purl", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.27.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.25.0"),
    ],
    targets: [
        .target(name: "Measuring"),
        // One source for both: what it measures is the import.
        .executableTarget(
            name: "PurlRunner",
            dependencies: [
                "Measuring", .product(name: "Purl", package: "purl"),
                .product(name: "PurlTLS", package: "purl"),
            ],
            swiftSettings: [.define("PURL")]),
        .executableTarget(name: "FoundationRunner", dependencies: ["Measuring"]),
        .executableTarget(
            name: "AsyncHTTPClientRunner",
            dependencies: [
                "Measuring", .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        .executableTarget(name: "RawLimit", cSettings: [.unsafeFlags(["-O2"])]),
        .executableTarget(name: "EchoServer", cSettings: [.unsafeFlags(["-O2"])]),
    ]
)
