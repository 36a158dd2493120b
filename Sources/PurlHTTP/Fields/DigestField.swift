/// The value of `Content-Digest` and `Repr-Digest` (RFC 9530): a dictionary of algorithms and byte sequences.
package enum DigestField {
    /// The 32 bytes of the `sha-256` member; nil when there is none, and when the value as a whole is not such a
    /// dictionary (RFC 9651 §4.2: a field that fails to parse is ignored altogether). Other algorithms are
    /// skipped; of two members with the same name the last counts.
    package static func sha256(in text: String) -> [UInt8]? {
        var reader = StructuredFieldReader(text)
        var digest: [UInt8]?
        let isRead = reader.readDictionary(
            of: { $0.memberBytes() },
            visit: { key, bytes in
                if key.elementsEqual("sha-256".utf8) { digest = bytes }
            })
        guard isRead, let digest, digest.count == 32 else { return nil }
        return digest
    }
}
