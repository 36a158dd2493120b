import Foundation

/// The name of the folder that belongs to an identifier of the program's choice.
enum FolderName {
    private static let maximumNameLength = 200

    /// The identifier as one path component, different for different identifiers, also where letter case does not
    /// count: small letters, digits, "-" and "_" stand for themselves, "." too unless it comes first, everything else is
    /// percent-encoded; what would be too long is named by its digest.
    static func of(_ identifier: String) -> String {
        let name = percentEncoded(identifier, keepingCapitals: false)
        // "%" stands for a byte with two digits after it, so no other identifier has these two names.
        if name.isEmpty { return "%" }
        return name.utf8.count <= maximumNameLength ? name : "%%" + Data(identifier.utf8).sha256
    }

    /// The name that the folder had when capitals stood for themselves, and a digest could be another identifier's name.
    static func former(_ identifier: String) -> String {
        let name = percentEncoded(identifier, keepingCapitals: true)
        if name.isEmpty { return "%" }
        return name.utf8.count <= maximumNameLength ? name : "%" + Data(identifier.utf8).sha256
    }

    private static func percentEncoded(_ identifier: String, keepingCapitals: Bool) -> String {
        var name = ""
        for byte in identifier.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: "A")...UInt8(ascii: "Z") where keepingCapitals:
                name.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where !name.isEmpty:
                name += "."
            default:
                name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return name
    }
}
