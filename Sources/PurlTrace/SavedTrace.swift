public import Foundation
public import Purl

/// The forms in which a trace is saved, by the extension of the file's name.
public enum TraceFormat: String, Sendable, Hashable, CaseIterable {
    /// Lines of text: `.txt`.
    case text = "txt"
    /// A sequence diagram: `.svg`.
    case diagram = "svg"
    /// An HTTP Archive 1.2, for browsers' tools and others: `.har`.
    case archive = "har"
    /// Packets for Wireshark: `.pcapng`.
    case capture = "pcapng"
    /// Everything, to be read back: `.json`.
    case recording = "json"
    /// The same under another name: `.trace`.
    case trace = "trace"

    /// The form of a file; `nil` for an extension that has none.
    ///
    /// - Parameter path: The name of the file, or its path.
    public init?(path: String) {
        guard let dot = path.lastIndex(of: ".") else { return nil }
        self.init(rawValue: path[path.index(after: dot)...].lowercased())
    }

    /// Whether the bytes of bodies make the file better, so that the recorder should keep them.
    public var usesContent: Bool {
        switch self {
        case .archive, .capture, .recording, .trace: true
        case .text, .diagram: false
        }
    }

    /// A recording in this form.
    ///
    /// - Parameter recording: The recording.
    /// - Throws: When it cannot be encoded.
    public func data(of recording: TransferTrace.Recording) throws -> Data {
        switch self {
        case .text: Data(TextTrace(recording).text.utf8)
        case .diagram: Data(Diagram(recording).svg.utf8)
        case .archive: try HTTPArchive(recording).data
        case .capture: PacketCapture(recording).data
        case .recording, .trace: try recording.json
        }
    }
}

extension TransferTrace.Recording {
    /// The recording as JSON, from which ``init(json:)`` makes it again.
    public var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            encoder.dateEncodingStrategy = .millisecondsSince1970
            return try encoder.encode(self)
        }
    }

    /// A recording that was saved.
    ///
    /// - Parameter json: What ``json`` has made.
    /// - Throws: `DecodingError` when it is something else.
    public init(json: Data) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        self = try decoder.decode(TransferTrace.Recording.self, from: json)
    }
}

extension TransferTrace {
    /// Writes the trace so far into a file, in the form that its extension names: `txt`, `svg`, `har`, `pcapng`, `json` or
    /// `trace`.
    ///
    /// - Parameter file: The file, which is replaced.
    /// - Throws: `CocoaError` when the extension names no form, or the file cannot be written.
    public func write(to file: URL) throws {
        guard let format = TraceFormat(path: file.lastPathComponent) else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: file.path])
        }
        try format.data(of: recording).write(to: file, options: .atomic)
    }
}
