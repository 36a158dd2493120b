import Foundation
import Purl

/// What `--json` prints: an event of a command as a line of JSON.
///
/// The names of events and fields keep their meanings within a version. Later versions of the program may add others. A
/// field means the same in every event that has it.
struct CommandEvent: Encodable, Equatable, Sendable {
    /// What has happened.
    enum Kind: String, Encodable, CaseIterable, Sendable {
        /// The first byte of an attempt is about to be transferred, from `bytes` on. With a `reason` it starts over.
        case started
        /// At most once a second for each file.
        case progress
        /// The attempt has failed because of `reason`; the next one begins after `delay`.
        case retrying
        /// A server has failed because of `reason`; `url` is the next one's.
        case mirror
        /// The file is complete: `result` says how.
        case complete
        /// A file was compared with the digests of its pieces: `result` is `right` or `damaged`.
        case checked
        case failed
        case interrupted
        /// What there is of a transfer that has not been completed.
        case saved
        /// A part of what the server has answered to an upload.
        case body
        /// The WebSocket connection is open.
        case opened
        /// A WebSocket message that was received.
        case message
        /// The WebSocket connection was closed.
        case closed
        /// An unfinished transfer of `list`.
        case unfinished
        /// What `clean` has removed, or would with `--dry-run`.
        case removed
        /// What `clean` has not removed.
        case kept
        /// What a user should know: something is not checked, or is saved under another name.
        case warning
        case note
        /// What keeps the command from its work.
        case error
        /// The last line.
        case end
    }

    private let version = 1
    let event: Kind
    /// The file's name, as messages have it.
    var file: String?
    /// Without a password.
    var url: String?
    /// How many bytes of the file have been transferred, those of earlier commands included.
    var bytes: Int64?
    /// The file's length, if it is known.
    var total: Int64?
    /// Which parts of the file have been transferred, where they do not follow one another: the first and the last byte of
    /// each.
    var ranges: [[Int64]]?
    /// How many bytes this command has transferred.
    var newBytes: Int64?
    var bytesPerSecond: Double?
    var seconds: Double?
    /// In seconds.
    var delay: Double?
    /// The number of failures in a row without progress, and how many are retried.
    var failures: Int?
    var retries: Int?
    var reason: String?
    /// `downloaded`, `alreadyComplete`, `upToDate`, `repaired` or `uploaded`; of a check `right` or `damaged`.
    var result: String?
    /// The first and the last byte of each damaged part of the file.
    var damaged: [[Int64]]?
    /// Whether the file has the expected checksum; absent where none was expected.
    var isChecked: Bool?
    /// Whether the same command would resume.
    var isResumable: Bool?
    /// Whether a transfer is at work on it now.
    var isActive: Bool?
    var isDryRun: Bool?
    /// `download` or `upload`.
    var transfer: String?
    /// The response's status, or the code with which a WebSocket connection was closed.
    var status: Int?
    /// A sentence for people; it may change.
    var text: String?
    /// Bytes that are not text.
    var base64: String?
    /// The WebSocket subprotocol.
    var subprotocol: String?
    var exitStatus: Int32?

    init(_ event: Kind, file: String? = nil, url: URL? = nil) {
        self.event = event
        self.file = file
        self.url = url?.shownOrigin
    }

    /// The same event with more fields.
    func with(_ change: (inout CommandEvent) -> Void) -> CommandEvent {
        var event = self
        change(&event)
        return event
    }

    /// An event about nothing but this text.
    static func text(_ event: Kind, _ text: String) -> CommandEvent {
        CommandEvent(event).with { $0.text = text }
    }

    /// An event with content: text, or bytes that are not text.
    static func content(_ event: Kind, _ bytes: Data) -> CommandEvent {
        CommandEvent(event).with {
            $0.text = String(validating: bytes, as: UTF8.self)
            if $0.text == nil { $0.base64 = bytes.base64EncodedString() }
        }
    }

    /// The last event of a command.
    static func end(_ code: ExitCode) -> CommandEvent {
        CommandEvent(.end).with { $0.exitStatus = code.rawValue }
    }
}

/// Standard output with `--json`: a line for each event.
struct EventLog: Sendable {
    private let output: Console

    init(_ output: Console) {
        self.output = output
    }

    func write(_ event: CommandEvent) {
        if let line = JSONLine.bytes(of: event) { output.write(line) }
    }
}

/// A value as a line of JSON.
enum JSONLine {
    /// The line with its end; `nil` where the value cannot be encoded.
    static func bytes(of value: some Encodable) -> Data? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { $0 + [UInt8(ascii: "\n")] }
    }
}
