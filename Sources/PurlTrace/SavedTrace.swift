public import Foundation
public import Purl

/// The forms in which a trace is saved, by the extension of the file's name.
public enum TraceFormat: String, Sendable, Hashable, CaseIterable {
    /// Lines of text: `.txt`.
    case text = "txt"
    /// A sequence diagram: `.svg`.
    case diagram = "svg"
    /// A page on which one steps through the events: `.html`.
    case page = "html"
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
        case .page, .archive, .capture, .recording, .trace: true
        case .text, .diagram: false
        }
    }

    /// A recording in this form.
    ///
    /// - Throws: When it cannot be encoded.
    public func data(of recording: TransferTrace.Recording) throws -> Data {
        switch self {
        case .text: Data(TextTrace(recording).text.utf8)
        case .diagram: Data(Diagram(recording).svg.utf8)
        case .page: Data(HTMLTrace(recording).html.utf8)
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
            return try encoder.encode(SavedRecording(self))
        }
    }

    /// A recording that was saved.
    ///
    /// Of a later version, what this one does not know is left out, and its events are `unknown`.
    ///
    /// - Parameter json: What ``json`` has made.
    /// - Throws: ``DamagedRecording`` when it is something else.
    public init(json: Data) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        do {
            let version = try decoder.decode(SavedVersion.self, from: json).version
            guard version >= 1 else { throw DamagedRecording(reason: "“version” is less than 1") }
            self =
                version > SavedVersion.current
                ? try decoder.decode(SavedRecording<LaterEvent>.self, from: json).recording(\.event)
                : try decoder.decode(SavedRecording<TransferTrace.Event>.self, from: json).recording(\.self)
        } catch let error as DecodingError {
            throw DamagedRecording(error)
        }
    }
}

/// Why a file is not a recording that was saved.
public struct DamagedRecording: LocalizedError, Hashable {
    /// What is wrong with it: `“events[16].lane” is missing`.
    public let reason: String

    /// The reason in a sentence.
    public var errorDescription: String? { "The trace cannot be read: \(reason)." }
}

extension DamagedRecording {
    fileprivate init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, let context):
            reason = "“\(Self.text(of: context.codingPath + [key]))” is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            let path = Self.text(of: context.codingPath)
            reason = path.isEmpty ? "it is not JSON of a trace" : "“\(path)” has a value that cannot be read"
        @unknown default: reason = "it is not JSON of a trace"
        }
    }

    /// `events[16].lane`.
    private static func text(of path: [any CodingKey]) -> String {
        path.reduce("") { text, key in
            if let index = key.intValue { return "\(text)[\(index)]" }
            return text.isEmpty ? key.stringValue : "\(text).\(key.stringValue)"
        }
    }
}

/// The version of a saved recording. A later one may add events, fields and values, and changes none.
private struct SavedVersion: Decodable {
    static let current = 2
    let version: Int
}

/// A recording as it is saved.
private struct SavedRecording<Event: Decodable>: Decodable {
    let version: Int
    let startDate: Date
    let events: [Event]
    let droppedEvents: Int
    let droppedBytes: Int

    func recording(_ event: (Event) -> TransferTrace.Event) -> TransferTrace.Recording {
        TransferTrace.Recording(
            startDate: startDate, events: events.map(event), droppedEvents: droppedEvents, droppedBytes: droppedBytes)
    }
}

extension SavedRecording: Encodable where Event == TransferTrace.Event {
    init(_ recording: TransferTrace.Recording) {
        version = SavedVersion.current
        startDate = recording.startDate
        events = recording.events
        droppedEvents = recording.droppedEvents
        droppedBytes = recording.droppedBytes
    }
}

/// An event of a later version, which may be one that this version does not know.
private struct LaterEvent: Decodable {
    let event: TransferTrace.Event

    private enum CodingKeys: CodingKey {
        case nanoseconds, lane, task, exchange, connection, kind
    }

    private struct Content: Decodable {
        init(from decoder: any Decoder) {}
    }

    init(from decoder: any Decoder) throws {
        if let event = try? TransferTrace.Event(from: decoder) {
            self.event = event
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let kind = try container.decode([String: Content].self, forKey: .kind)
        event = TransferTrace.Event(
            nanoseconds: try container.decode(Int64.self, forKey: .nanoseconds),
            lane: (try? container.decode(TransferTrace.Lane.self, forKey: .lane)) ?? .network,
            task: try container.decodeIfPresent(Int.self, forKey: .task),
            exchange: try container.decodeIfPresent(Int.self, forKey: .exchange),
            connection: try container.decodeIfPresent(Int.self, forKey: .connection),
            kind: .unknown(name: kind.keys.min() ?? ""))
    }
}

extension TransferTrace {
    /// Writes the trace so far into a file, in the form that its extension names: `txt`, `svg`, `html`, `har`, `pcapng`, `json`
    /// or `trace`.
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
