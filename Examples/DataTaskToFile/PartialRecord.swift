import Foundation

/// What the bytes of a partial file do not tell: kept in a small file beside it.
struct PartialRecord: Codable {
    /// The length of the whole, for the progress at the next launch. A server need not say it.
    var total: Int64?
    /// The strong entity tag of the version that the bytes are of. Without one nobody can tell whether the rest, asked
    /// for tomorrow, fits to them.
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
