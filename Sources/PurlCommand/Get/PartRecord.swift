import Foundation

/// What `FILE.resume` says about `FILE.part`: the parts of the library's resume data that a person is told.
///
/// Whether the bytes can really be gone on with is the library's decision, which looks more closely.
struct PartRecord: Decodable, Equatable {
    /// The request the bytes came from.
    struct Request: Decodable, Equatable {
        let url: String
    }

    let originalRequest: Request
    let bytesReceived: Int64
    let totalBytes: Int64?
    let validator: String?

    /// Longer files are not records.
    private static let maximumLength = 1 << 20

    /// The record in a file; `nil` when it is not one.
    init?(contentsOf url: URL) {
        guard let file = try? FileHandle(forReadingFrom: url) else { return nil }
        defer { try? file.close() }
        guard let data = try? file.read(upToCount: Self.maximumLength),
            let record = try? PropertyListDecoder().decode(PartRecord.self, from: data),
            record.bytesReceived > 0
        else { return nil }
        self = record
    }

    init(url: String, bytesReceived: Int64, totalBytes: Int64?, validator: String?) {
        originalRequest = Request(url: url)
        self.bytesReceived = bytesReceived
        self.totalBytes = totalBytes
        self.validator = validator
    }

    /// "12.3 MB of 200 MB".
    var progress: String { ByteText.progress(bytesReceived, of: totalBytes) }
}
