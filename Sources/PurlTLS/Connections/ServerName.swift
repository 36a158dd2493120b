import Foundation
import Purl

/// The host of a connection, as TLS knows it: by a name, or by the bytes of an address.
enum ServerName: Equatable {
    case name(String)
    /// Of 4 or 16 bytes.
    case address([UInt8])

    /// Reads what `getaddrinfo` and a certificate understand alike.
    ///
    /// Only what `inet_pton` takes is an address. What else ends in a number, such as `0177.0.0.1` and `127.1`, is an address
    /// to `getaddrinfo`, by rules that other readers of addresses do not share, so that it is refused.
    init(_ host: String) throws(TLSError) {
        var bytes = [UInt8](repeating: 0, count: 16)
        // A C string ends at its first zero.
        let isText = host.utf8.allSatisfy { 0x21...0x7E ~= $0 }
        if isText, inet_pton(AF_INET, host, &bytes) == 1 {
            self = .address(Array(bytes[..<4]))
        } else if isText, inet_pton(AF_INET6, host, &bytes) == 1 {
            self = .address(bytes)
        } else {
            // RFC 6066 §3: without the dot that may end a name.
            let name = host.hasSuffix(".") ? String(host.dropLast()) : host
            guard isText, !name.isEmpty, !name.hasPrefix("."), !name.hasSuffix("."),
                !name.utf8.contains(where: Self.separators.contains)
            else {
                throw TLSError(.unusableSettings, reason: "“\(host)” cannot be the name of a TLS server")
            }
            guard !Self.endsInNumber(name) else {
                throw TLSError(
                    .unusableSettings, reason: "“\(host)” is neither a name nor an address in its usual form")
            }
            self = .name(name)
        }
    }

    /// The wildcard name under which a certificate may have a host whose name has an underscore, as those
    /// of many services do. OpenSSL compares no wildcard with such a name, and this one only with itself.
    static func wildcard(for name: String) -> String? {
        guard name.utf8.contains(UInt8(ascii: "_")), let dot = name.firstIndex(of: ".") else { return nil }
        let domain = name[dot...].dropFirst()
        // Not all names of a top-level domain.
        return domain.utf8.contains(UInt8(ascii: ".")) ? "*.\(domain)" : nil
    }

    /// What has a meaning in URLs, and none in names.
    private static let separators = Set("%/:#?@[]\\".utf8)

    /// Whether the last label is a number in decimal digits, or in hexadecimal ones behind `0x`.
    private static func endsInNumber(_ name: String) -> Bool {
        let last =
            name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).last ?? name.utf8[...]
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        if !last.isEmpty, last.allSatisfy(digits.contains) { return true }
        guard last.first == UInt8(ascii: "0"), last.dropFirst().first.map({ $0 | 0x20 }) == UInt8(ascii: "x") else {
            return false
        }
        return last.dropFirst(2).allSatisfy { digits.contains($0) || 0x61...0x66 ~= $0 | 0x20 }
    }
}
