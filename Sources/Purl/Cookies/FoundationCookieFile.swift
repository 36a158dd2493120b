import Foundation
internal import PurlIO

/// The file in which FoundationNetworking keeps a program's cookies: a property list in XML, a dictionary of cookies.
///
/// It is read once, while there is no ``CookieFile`` yet, so that a program that moves to Purl keeps its cookies; it is never
/// changed.
struct FoundationCookieFile: Sendable {
    /// Longer files are not read.
    private static let maximumSize: Int64 = 16 << 20
    /// A dictionary for each cookie, and one that contains them.
    private static let maximumContainers = 20_000

    let path: String

    init(path: String) {
        self.path = path
    }

    /// The file of a storage.
    ///
    /// - Parameters:
    ///   - name: `shared`, or a group's identifier. `nil` is returned for one that cannot be part of a file's name.
    ///   - bundlePath: The folder of the program, whose name FoundationNetworking gives to the folder of the file.
    init?(of name: String, data: URL = UserDirectories.data, bundlePath: String = Bundle.main.bundlePath) {
        guard !name.contains("/"), let program = bundlePath.split(separator: "/").last else { return nil }
        let folder = program.lastIndex(of: ".").map { program[..<$0] } ?? program
        path = data.path + "/\(folder)/.cookies.\(name)"
    }

    /// The cookies that have not expired; none where there is no such file. Those for a public suffix are left out: Purl
    /// lets no server set them.
    func read(with files: any FileLayer, at now: Date, suffixes: PublicSuffixList = .system) -> [StoredCookie] {
        guard let file = try? files.open(path, .existing), let size = try? file.size(), size <= Self.maximumSize,
            let bytes = try? file.read(Int(size), at: 0),
            let list = UntrustedPropertyList(bytes, maximumContainers: Self.maximumContainers),
            let entries = list.decode([String: Entry].self)
        else { return [] }
        var jar = CookieJar()
        for (_, entry) in entries.sorted(by: { $0.key < $1.key }) {
            guard let cookie = entry.cookie else { continue }
            let isTooWide = !cookie.key.isHostOnly && suffixes.suffixes.contains(cookie.key.domain)
            if !isTooWide { jar.insert(cookie, set: now, at: now) }
        }
        return jar.storedCookies
    }

    /// One cookie of the list; what is not a cookie spoils no other.
    private struct Entry: Decodable {
        private enum CodingKeys: String, CodingKey {
            case name = "Name"
            case value = "Value"
            case domain = "Domain"
            case path = "Path"
            case expires = "Expires"
            case isSecure = "Secure"
        }

        let cookie: HTTPCookie?

        init(from decoder: any Decoder) {
            cookie = try? Self.cookie(in: decoder)
        }

        private static func cookie(in decoder: any Decoder) throws -> HTTPCookie? {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            var properties: [HTTPCookiePropertyKey: Any] = [
                .name: try values.decode(String.self, forKey: .name),
                .value: try values.decode(String.self, forKey: .value),
                .domain: try values.decode(String.self, forKey: .domain),
                .path: try values.decode(String.self, forKey: .path),
                // In seconds since 1970.
                .expires: Date(timeIntervalSince1970: try values.decode(Double.self, forKey: .expires)),
            ]
            if try values.decodeIfPresent(Bool.self, forKey: .isSecure) == true { properties[.secure] = "TRUE" }
            return HTTPCookie(properties: properties)
        }
    }
}
