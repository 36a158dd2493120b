import Foundation

/// `FILE.upload`: what it takes to resume an upload of FILE, beside it.
struct UploadRecord: Codable, Equatable {
    private static let currentVersion = 1
    private static let suffix = "upload"
    /// A longer file is no record.
    private static let maximumSize = 1 << 20

    private var purlUpload = Self.currentVersion
    /// The URL of the command line.
    let url: String
    let method: String
    /// The library's resume data.
    let resumeData: Data

    init(url: URL, method: String, resumeData: Data) {
        self.url = url.absoluteString
        self.method = method
        self.resumeData = resumeData
    }

    /// Where the record of a file is.
    static func place(for file: URL) -> URL { file.appendingPathExtension(suffix) }

    /// Reads the record of a file; `nil` when there is none. Throws when something else has its name.
    init?(for file: URL) throws(CommandFailure) {
        let place = Self.place(for: file)
        switch FileEntry(at: place) {
        case .missing: return nil
        case .regular(let entry) where entry.isOwn && !entry.hasOtherNames && entry.length <= Self.maximumSize: break
        case .regular, .folder, .link, .device, .pipe, .socket: throw Self.refusal(place)
        }
        guard let data = try? Data(contentsOf: place),
            let found = try? PropertyListDecoder().decode(UploadRecord.self, from: data),
            found.purlUpload == Self.currentVersion
        else { throw Self.refusal(place) }
        self = found
    }

    /// Whether it is about the same request.
    func isOf(_ url: URL, _ method: String) -> Bool { self.url == url.absoluteString && self.method == method }

    /// Saves the record in one step: whoever reads it finds the old one or this one. Only the user can read it, since the
    /// request's fields may hold credentials.
    func save(for file: URL) throws(CommandFailure) {
        let place = Self.place(for: file)
        let new = place.appendingPathExtension("new")
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        do {
            let data = try encoder.encode(self)
            unlink(new.path)
            let descriptor = open(new.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw Self.currentError }
            let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try output.write(contentsOf: data)
            guard rename(new.path, place.path) == 0 else { throw Self.currentError }
        } catch {
            unlink(new.path)
            throw CommandFailure(
                "“\(place.lastPathComponent)” cannot be saved: \((error as NSError).localizedDescription)")
        }
    }

    /// Removes the record of a file, if there is one.
    static func remove(for file: URL) {
        guard (try? UploadRecord(for: file)) != nil else { return }
        unlink(place(for: file).path)
    }

    private static var currentError: NSError { NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }

    private static func refusal(_ place: URL) -> CommandFailure {
        CommandFailure(
            "“\(place.lastPathComponent)” is not a record of purl's. It was left as it is: remove or rename it, or use --no-resume."
        )
    }
}
