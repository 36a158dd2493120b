// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "purl-tls",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "PurlOpenSSL", targets: ["PurlOpenSSL"]),
        .executable(name: "purl-tls", targets: ["PurlTLSCommand"]),
    ],
    dependencies: [.package(name: "purl", path: "../..")],
    targets: [
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]),
        .target(name: "PurlOpenSSL", dependencies: ["COpenSSL", .product(name: "Purl", package: "purl")]),
        .executableTarget(
            name: "PurlTLSCommand", dependencies: ["PurlOpenSSL", .product(name: "PurlCommand", package: "purl")]),
        // What CI tries against other software's servers.
        .executableTarget(
            name: "TLSSubject", dependencies: ["PurlOpenSSL", .product(name: "Purl", package: "purl")]),
    ],
    swiftLanguageModes: [.v6]
)
