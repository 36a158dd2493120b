// swift-tools-version: 6.2
import PackageDescription

// Programs of other people's libraries, which the checks in `.ci` speak to. A package of its own, because the library and
// its checks have no dependencies.
let package = Package(
    name: "Peers",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
    ],
    targets: [
        .executableTarget(
            name: "ResumableUploadServer",
            dependencies: [
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOResumableUpload", package: "swift-nio-extras"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
