import Foundation
internal import PurlHTTP
internal import PurlIO

/// A resource to which uploads can be made that resume: the server's side of
/// draft-ietf-httpbis-resumable-upload, with faults on demand.
///
/// ```swift
/// let target = UploadTarget()
/// target.fault(.connection(.cut), at: .offset(1_000_000))
/// let url = server.route("/files", .upload(to: target))
/// // … upload to url …
/// #expect(target.uploads[0].content == data)
/// #expect(target.uploads[0].parts.map(\.range) == [0..<1_000_000, 1_000_000..<data.count])
/// ```
///
/// A request with `Upload-Complete` and a draft version that the target speaks creates an upload resource, which the
/// server announces with a 104. The server adds a route for it: `/files/upload-0` for the first. There `HEAD` returns
/// the offset, `PATCH` appends, and `DELETE` cancels. Content counts as soon as it arrives, also when the request does
/// not. A request that finds another one of the same upload under way closes the other one's connection.
///
/// Any other request with a body is an upload that cannot be resumed, and `GET` returns the content of the upload that
/// was completed last.
///
/// A target can be used from any thread, and by routes of several servers at the same time.
public final class UploadTarget: Sendable {
    /// What the target accepts. It announces these limits with `Upload-Limit`, and enforces them.
    public struct Limits: Sendable, Hashable {
        /// How many bytes an upload has at most. A larger one gets a 413.
        public var maximumSize: Int?
        /// How many bytes an upload has at least. A smaller one gets a 400.
        public var minimumSize: Int?
        /// How many bytes of content a request has at most. A larger one gets a 413.
        public var maximumAppendSize: Int?
        /// How many bytes of content a request has at least, unless it completes the upload. A smaller one gets a 400.
        public var minimumAppendSize: Int?
        /// How many seconds an upload resource exists.
        public var maximumAge: Int?

        /// Sets some limits.
        ///
        /// - Parameters:
        ///   - maximumSize: How many bytes an upload has at most.
        ///   - minimumSize: How many bytes an upload has at least.
        ///   - maximumAppendSize: How many bytes of content a request has at most.
        ///   - minimumAppendSize: How many bytes of content a request that does not complete the upload has at least.
        ///   - maximumAge: How many seconds an upload resource exists.
        public init(
            maximumSize: Int? = nil, minimumSize: Int? = nil, maximumAppendSize: Int? = nil,
            minimumAppendSize: Int? = nil, maximumAge: Int? = nil
        ) {
            self.maximumSize = maximumSize
            self.minimumSize = minimumSize
            self.maximumAppendSize = maximumAppendSize
            self.minimumAppendSize = minimumAppendSize
            self.maximumAge = maximumAge
        }
    }

    /// The draft versions that the target speaks.
    public let versions: Set<Int>
    /// What the target accepts.
    public let limits: Limits

    /// What the `Location` of an upload resource has before its path.
    let origin: String
    /// After how many bytes of content a 104 states the offset; `nil` for none.
    let progressInterval: Int?

    private let reply: Reply
    private let maximumRecordedContent: Int
    /// Whether the content of a complete upload is kept when another one is complete.
    private let keepsEarlierContent: Bool
    private let state = Monitor(State())
    /// The request under way for each upload.
    @NetworkActor private var exchanges: [Int: UploadExchange] = [:]

    private struct State: Sendable {
        var entries: [Entry] = []
        var faults: [PlannedUploadFault] = []
        var lastCompleted: Int?
    }

    private struct Entry: Sendable {
        var upload: ReceivedUpload
        let head: RequestHead
        let expiry: MonotonicTime?
    }

    /// Creates a target without uploads.
    ///
    /// - Parameters:
    ///   - versions: The draft versions that it speaks, from 4 to 8. A request with another one creates an upload that
    ///     cannot be resumed.
    ///   - limits: What it accepts.
    ///   - origin: What the `Location` of an upload resource has before its path, such as `http://localhost:8080`;
    ///     without, it is a path alone.
    ///   - progressInterval: After how many bytes of content a 104 states the offset; `nil` for none.
    ///   - maximumRecordedContent: How many bytes of each upload are kept; the rest is counted and dropped.
    ///   - reply: What it replies to the request that completes an upload. A handler of ``Reply/computed(_:)`` gets the
    ///     request that created the upload, with the whole content as its body.
    public convenience init(
        versions: Set<Int> = [6, 8], limits: Limits = Limits(), origin: String = "", progressInterval: Int? = nil,
        maximumRecordedContent: Int = 64 << 20, reply: Reply = .status(201)
    ) {
        self.init(
            versions: versions, limits: limits, origin: origin, progressInterval: progressInterval,
            maximumRecordedContent: maximumRecordedContent, reply: reply, keepsEarlierContent: true)
    }

    init(
        versions: Set<Int>, limits: Limits, origin: String = "", progressInterval: Int? = nil,
        maximumRecordedContent: Int = 64 << 20, reply: Reply = .status(201), keepsEarlierContent: Bool
    ) {
        self.versions = versions
        self.limits = limits
        self.origin = origin
        self.progressInterval = progressInterval.map { max(1, $0) }
        self.maximumRecordedContent = maximumRecordedContent
        self.keepsEarlierContent = keepsEarlierContent
        self.reply = reply
    }

    // MARK: Faults

    /// Lets something go wrong when a request reaches a phase. Faults add up: those at the same phase happen in the order
    /// in which they were added, each to the next request that reaches it.
    ///
    /// - Parameters:
    ///   - fault: What goes wrong.
    ///   - phase: Where.
    ///   - times: How often.
    public func fault(_ fault: Fault, at phase: Phase, times: Int = 1) {
        guard times > 0 else { return }
        state.update { $0.faults.append(PlannedUploadFault(fault: fault, phase: phase, left: times)) }
    }

    /// Lets every upload resource that exists now expire: requests to it get a 404.
    public func expire() {
        state.update { state in
            for index in state.entries.indices { state.entries[index].upload.deactivate(.expired) }
        }
    }

    // MARK: What the target received

    /// The uploads so far, in the order in which they were created.
    public var uploads: [ReceivedUpload] { state.read { $0.entries.map(\.upload) } }

    /// How many bytes of content have been accepted, those of all uploads together. Where one content was uploaded, more
    /// than its length means that some of it was accepted twice.
    public var acceptedBytes: Int {
        state.read { $0.entries.reduce(0) { $0 + $1.upload.parts.reduce(0) { $0 + $1.range.count } } }
    }

    /// Returns as soon as a condition holds, or when the calling task is cancelled.
    ///
    /// - Parameter condition: Called with the uploads so far, after each change.
    public func wait(until condition: @escaping @Sendable ([ReceivedUpload]) -> Bool) async {
        await state.wait { condition($0.entries.map(\.upload)) }
    }

    // MARK: For the requests

    /// The faults that happen now that a request has reached a phase.
    func takeFaults(at phase: Phase) -> [Fault] {
        state.update { state in
            var taken: [Fault] = []
            for index in state.faults.indices where state.faults[index].phase == phase && state.faults[index].left > 0 {
                state.faults[index].left -= 1
                taken.append(state.faults[index].fault)
                // What follows it is for the next request.
                if !state.faults[index].fault.changesResponse { break }
            }
            return taken
        }
    }

    /// How many bytes can be taken at an offset before a fault happens or the offset is to be stated.
    func room(at offset: Int) -> Int {
        let planned = state.read { state in
            state.faults.compactMap { fault -> Int? in
                guard fault.left > 0, case .offset(let place) = fault.phase, place > offset else { return nil }
                return place - offset
            }.min()
        }
        return min(planned ?? .max, progressInterval.map { $0 - offset % $0 } ?? .max)
    }

    /// Creates an upload.
    func create(_ request: ReceivedRequest, _ head: RequestHead, version: Int?, length: Int?) -> ReceivedUpload {
        let expiry = limits.maximumAge.map { MonotonicTime.current + .seconds($0) }
        return state.update { state in
            let number = state.entries.count
            let folder = request.path.hasSuffix("/") ? String(request.path.dropLast()) : request.path
            let upload = ReceivedUpload(
                number: number, path: "\(folder)/\(Self.prefix)\(number)", version: version, request: request,
                length: length)
            state.entries.append(Entry(upload: upload, head: head, expiry: expiry))
            return upload
        }
    }

    /// The upload whose resource has this path; `nil` for every other path.
    func upload(at path: String) -> ReceivedUpload? {
        guard let name = path.split(separator: "/").last, name.hasPrefix(Self.prefix),
            let number = Int(name.dropFirst(Self.prefix.count))
        else { return nil }
        let now = MonotonicTime.current
        return state.update { state in
            guard state.entries.indices.contains(number), state.entries[number].upload.version != nil else {
                return nil
            }
            if let expiry = state.entries[number].expiry, expiry <= now {
                state.entries[number].upload.deactivate(.expired)
            }
            return state.entries[number].upload
        }
    }

    /// An upload as it is now.
    func upload(_ number: Int) -> ReceivedUpload { state.read { $0.entries[number].upload } }

    /// Changes an upload.
    func update(_ number: Int, _ change: (inout ReceivedUpload) -> Void) {
        state.update { state in
            let wasComplete = state.entries[number].upload.state == .complete
            change(&state.entries[number].upload)
            guard !wasComplete, state.entries[number].upload.state == .complete else { return }
            if !keepsEarlierContent, let last = state.lastCompleted { state.entries[last].upload.dropContent() }
            state.lastCompleted = number
        }
    }

    /// Adds content to an upload.
    func append(_ bytes: UnsafeRawBufferPointer, to number: Int, by request: Int) {
        let limit = maximumRecordedContent
        state.update { $0.entries[number].upload.append(bytes, by: request, keepingAtMost: limit) }
    }

    /// What the target replies to the request that completes an upload, and the request that it replies to.
    func completion(of number: Int, request: ReceivedRequest) -> (reply: Reply, request: ReceivedRequest, index: Int) {
        let entry = state.read { $0.entries[number] }
        var whole = ReceivedRequest(number: request.number, connection: request.connection, head: entry.head)
        whole.body = entry.upload.content
        whole.bodyBytesReceived = entry.upload.offset
        whole.isComplete = true
        return (reply, whole, number)
    }

    /// The content that was completed last.
    var lastContent: Data? { state.read { state in state.lastCompleted.map { state.entries[$0].upload.content } } }

    /// Makes a request the one under way for an upload, and ends the one that was.
    @NetworkActor
    func beginExchange(_ exchange: UploadExchange, for number: Int) {
        exchanges.removeValue(forKey: number)?.terminate()
        exchanges[number] = exchange
    }

    /// Ends the request under way for an upload, if there is one.
    @NetworkActor
    func endExchange(for number: Int) {
        exchanges.removeValue(forKey: number)?.terminate()
    }

    /// Forgets a request that is no longer under way.
    @NetworkActor
    func removeExchange(_ exchange: UploadExchange, for number: Int) {
        if exchanges[number] === exchange { exchanges[number] = nil }
    }

    private static let prefix = "upload-"
}

extension UploadTarget: Equatable {
    /// Whether both are the same target.
    ///
    /// - Parameter right: Another target, or the same.
    public static func == (left: UploadTarget, right: UploadTarget) -> Bool { left === right }
}
