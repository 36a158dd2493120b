import Foundation

/// Where finished files are kept under the last part of their URLs.
struct DoneFolder {
    private let folder: URL

    init(in home: URL) throws {
        folder = home.appendingPathComponent("done", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    func place(of url: URL) -> URL { folder.appendingPathComponent(url.lastPathComponent) }

    func has(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: place(of: url).path) }

    /// Takes the file in, in one step.
    func take(_ file: URL, of url: URL) throws {
        guard rename(file.path, place(of: url).path) == 0 else {
            throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno), userInfo: [NSFilePathErrorKey: file.path])
        }
    }
}
