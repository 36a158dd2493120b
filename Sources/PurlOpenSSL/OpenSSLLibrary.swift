#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The system's OpenSSL 3, found when the program runs: its functions by their names.
///
/// `libcrypto.so.3` and `libssl.so.3` are looked for as the system looks for libraries, `LD_LIBRARY_PATH` included, or in the
/// folder that the variable `PURL_OPENSSL` of the environment names, and there alone. They stay loaded until the process ends.
package final class OpenSSLLibrary: Sendable {
    /// OpenSSL's version, such as `3.0.17`.
    package let version: String
    // What `dlopen` has returned: never closed, and `dlsym` may be called by any thread.
    private nonisolated(unsafe) let handle: UnsafeMutableRawPointer

    /// The library, loaded at the first call; the same error each time where it cannot be.
    package static func shared() throws(OpenSSLUnavailable) -> OpenSSLLibrary { try result.get() }

    private static let result = Result { () throws(OpenSSLUnavailable) in try OpenSSLLibrary(folder: namedFolder) }

    /// Loads the library, once more if it was loaded before; the system counts.
    ///
    /// - Parameter folder: The only place to look for it; `nil` for the system's places.
    package init(folder: String?) throws(OpenSSLUnavailable) {
        #if os(Linux)
            // The second one needs the first, and finds it by its name once it is loaded.
            let crypto = try Self.load("libcrypto.so.3", from: folder)
            handle = try Self.load("libssl.so.3", from: folder)
            guard let number = dlsym(crypto, "OpenSSL_version_num"),
                let initialise = dlsym(crypto, "OPENSSL_init_crypto")
            else {
                throw OpenSSLUnavailable(finding: "libcrypto.so.3 is not OpenSSL's")
            }
            let encoded = unsafeBitCast(number, to: (@convention(c) () -> UInt).self)()
            // OPENSSL_VERSION_NUMBER: 0xMNN00PP0.
            version = "\(encoded >> 28).\(encoded >> 20 & 0xFF).\(encoded >> 4 & 0xFF)"
            guard encoded >> 28 >= 3 else { throw OpenSSLUnavailable(finding: "OpenSSL \(version) is too old") }
            // Without OPENSSL_INIT_NO_ATEXIT `exit` would free what other threads still use.
            let withoutExitHandler: UInt64 = 0x0008_0000
            typealias Initialise = @convention(c) (UInt64, OpaquePointer?) -> Int32
            guard unsafeBitCast(initialise, to: Initialise.self)(withoutExitHandler, nil) == 1 else {
                throw OpenSSLUnavailable(finding: "OpenSSL \(version) cannot be initialised")
            }
        #else
            throw OpenSSLUnavailable(
                reason: "PurlTLS uses OpenSSL on Linux alone: set a provider over this system's TLS library")
        #endif
    }

    /// A function of the library.
    ///
    /// - Parameter signature: Its `@convention(c)` type. Nothing checks that it is right.
    package func function<Signature>(
        _ name: String, _ signature: Signature.Type
    ) throws(OpenSSLUnavailable) -> Signature {
        precondition(MemoryLayout<Signature>.size == MemoryLayout<UnsafeMutableRawPointer>.size, "no C function")
        guard let address = dlsym(handle, name) else {
            throw OpenSSLUnavailable(finding: "OpenSSL \(version) was built without “\(name)”")
        }
        return unsafeBitCast(address, to: signature)
    }

    #if os(Linux)
        private static func load(
            _ name: String, from folder: String?
        ) throws(OpenSSLUnavailable) -> UnsafeMutableRawPointer {
            let path = folder.map { "\($0)/\(name)" } ?? name
            if let handle = dlopen(path, RTLD_NOW | RTLD_LOCAL) { return handle }
            let complaint = dlerror().map { String(cString: $0) } ?? "\(path) cannot be loaded"
            // musl's words, in a program that is linked statically.
            if complaint.contains("Dynamic loading not supported") {
                throw OpenSSLUnavailable(
                    reason: "OpenSSL 3 cannot be loaded by a program that is linked statically: link it dynamically")
            }
            throw OpenSSLUnavailable(finding: complaint)
        }
    #endif

    /// The folder that the environment names, unless the program has more rights than its user, as `LD_LIBRARY_PATH`.
    private static var namedFolder: String? {
        guard getuid() == geteuid(), getgid() == getegid(), let value = getenv("PURL_OPENSSL") else { return nil }
        let folder = String(cString: value)
        return folder.isEmpty ? nil : folder
    }
}

/// OpenSSL cannot be used on this machine.
package struct OpenSSLUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is missing and what to install, as a sentence without a full stop.
    package let reason: String

    package var description: String { reason }

    init(reason: String) {
        self.reason = reason
    }

    /// With what the system has found.
    package init(finding: String) {
        reason =
            "https needs OpenSSL 3 (libssl.so.3 and libcrypto.so.3): install “libssl3” (Debian, Ubuntu, Alpine) or "
            + "“openssl-libs” (Fedora) – \(finding)"
    }
}
