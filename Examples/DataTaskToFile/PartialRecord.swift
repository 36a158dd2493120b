import Foundation

/// The total and the version of a partial file, kept in a small file beside it.
struct PartialRecord: Codable {
    /// The length of the whole file, if the server has sent it.
    var total: Int64?
    /// The strong entity tag of the bytes' version. Without one a later range request could return another version's bytes.
    var validator: String?

    static func load(for file: URL) -> PartialRecord? {
        guard let data = try? Data(contentsOf: place(for: file)) else { return nil }
        return try? JSONDecoder().decode(PartialRecord.self, from: data)
    }

    func save(for file: URL) throws {
        try JSONEncoder().encode(self).write(to: Self.place(for: file), options: .atomic)
    }

    static func remove(for file: URL) {
        try? FileManager.default.removeItem(at: place(for: file))
    }

    private static func place(for file: URL) -> URL { file.appendingPathExtension("record") }
}
