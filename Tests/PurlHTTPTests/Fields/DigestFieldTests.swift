import PurlHTTP
import Testing

@Suite("Digest fields (RFC 9530)")
struct DigestFieldTests {
    /// SHA-256 of no bytes.
    static let empty = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
    static let emptyHex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    static let zeros = "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:"

    @Test(
        "The sha-256 member is found among others, with parameters and with blanks around it",
        arguments: [
            empty, " \(empty) ", "\(empty);a", "\(empty);a=1; b=\"x\\\"y\";c=?1;d=:AA==:;e=tok/en",
            "sha-512=:AAAA:,\(empty)", "\(empty)\t,  md5=::", "unixsum=:AQ==:, \(empty), *x.y_z-1=:AQ==:",
            "\(zeros), \(empty)",
        ])
    func found(text: String) throws {
        let digest = try #require(DigestField.sha256(in: text))
        #expect(SHA256.hexadecimal(digest) == Self.emptyHex)
    }

    @Test("Of two members with the same name the last counts")
    func lastOfTwo() {
        #expect(DigestField.sha256(in: "\(Self.empty), \(Self.zeros)") == Array(repeating: 0, count: 32))
    }

    @Test(
        "Any other value has no sha-256 digest",
        arguments: [
            "", " ", "sha-256", "sha-256=", "sha-256=?1", "sha-256=47DEQpj8HBSa", "SHA-256=:AAAA:", "sha-512=:AAAA:",
            // Broken base64: unpadded, stray bits, another alphabet, a blank in the middle, no end, padding inside.
            "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA:",
            "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=:",
            "sha-256=:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=:",
            "sha-256=:47DEQpj8HBSa+/TI W+5JCeuQeRkm5NMpJWZG3hSuFU=:",
            "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
            "sha-256=:47DE=pj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:", "sha-256=:====:",
            // Too short, too long.
            "sha-256=::", "sha-256=:AAAA:",
            "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==:",
            // A dictionary that breaks the grammar anywhere is ignored altogether.
            "\(empty),", "\(empty) x", "\(empty),,\(empty)", "\(empty), md5", "\(empty), md5=1", "\(empty), Md5=:AA==:",
            "\(empty);", "\(empty);A", "\(empty);a=", "\(empty);a=\"x", "\(empty);a=\"x\\", "=:AA==:, \(empty)",
            ",\(empty)", "sha-256 =:AAAA:", "(sha-256)",
        ])
    func rejects(text: String) {
        #expect(DigestField.sha256(in: text) == nil)
    }
}
