internal import Foundation
internal import Purl
internal import PurlTesting

/// One way to fail: what the server, the network, the disk or the user does, and what has to come of it.
///
/// A fault is data. ``Cell/run()`` acts it out with one kind of task and reports what was wrong.
package struct Fault: Sendable, CustomStringConvertible {
    typealias Setting = @Sendable (Stage) throws -> Void

    /// What sort of fault it is.
    package let group: String
    /// The fault in words.
    package let name: String
    /// What has to come of it.
    var expectation: @Sendable (TaskKind) -> Expectation
    /// Which kinds of task can meet it.
    var kinds: @Sendable (TaskKind) -> Bool = { _ in true }
    /// Which kinds of stream can meet it: none where it is one of HTTP.
    var streams: @Sendable (TaskKind) -> Bool = { _ in false }
    /// What the server does with a stream; without a script it answers as it answers others.
    var script: @Sendable (Stage) -> StreamScript? = { $0.script }
    /// Makes the server ready, after an earlier download has left what a resumed one starts from.
    var prepare: Setting = { _ in }
    /// Where the task begins.
    var url: @Sendable (Stage) -> URL = { $0.url(Stage.path) }
    var configure: @Sendable (URLSessionConfiguration, Stage) -> Void = { _, _ in }
    var changeRequest: @Sendable (inout URLRequest) -> Void = { _ in }
    /// What the user does, and when.
    var meddling: Meddling?
    /// Does something to the session's delegate queue before the task begins.
    var disturb: (@Sendable (OperationQueue, Stage) -> Void)?
    /// Begins before the task does, and may wait for something to happen.
    var meanwhile: @Sendable (Stage) -> Void = { _ in }
    /// Sets what only a task has.
    var changeTask: @Sendable (URLSessionTask?) -> Void = { _ in }
    /// Where a data task with a sink writes.
    var sink: @Sendable (Stage) -> any BodySink = { FileHandleSink(fileAt: $0.sinkFile) }
    /// The partial file of a resumed download is there and cannot be opened, so it stays until it is too old.
    var hidesPartialFile = false
    /// What comes is no response, so no response and no byte of a body is reported.
    var isNoResponse = false
    /// The session can still load something from the server afterwards.
    var checksSession = true
    /// The bytes of the body, as far as they come, are those of the stage's resource.
    var sendsResource = false
    /// Nothing happens any more once the server has stopped at the gate: the clock is moved on until the task gives up.
    var passesTime = false
    /// There is no way to the server now, and there may be one later: a background session waits for it until the limit of
    /// the resource.
    var isPassing = false
    /// Time does so once the server has come to the gate, and not from the start.
    var waitsForGate = false
    /// It happens to sockets alone.
    var needsSockets = false
    /// It happens to connections in the open alone.
    var needsOpenness = false
    /// It happens to real TLS alone.
    var needsTLS = false
    /// It concerns the whole process, so nothing else may run beside it.
    package var isProcessWide = false

    package var description: String { "\(group): \(name)" }

    /// - Parameter reply: The server's answer.
    init(_ group: String, _ name: String, _ reply: Reply, _ expectation: @escaping @Sendable (TaskKind) -> Expectation)
    {
        self.group = group
        self.name = name
        self.expectation = expectation
        prepare = { $0.answer(reply) }
    }

    init(_ group: String, _ name: String, _ reply: Reply, _ expectation: Expectation) {
        self.init(group, name, reply) { _ in expectation }
    }

    /// A fault whose server needs the stage.
    init(
        _ group: String, _ name: String, _ expectation: Expectation,
        prepare: @escaping Setting = { $0.answer($0.resource) }
    ) {
        self.group = group
        self.name = name
        self.expectation = { _ in expectation }
        self.prepare = prepare
    }

    /// A copy with a change.
    func with(_ change: (inout Fault) -> Void) -> Fault {
        var fault = self
        change(&fault)
        return fault
    }

    func only(_ kinds: @escaping @Sendable (TaskKind) -> Bool) -> Fault {
        with { $0.kinds = kinds }
    }

    /// Streams can meet it, too.
    func withStreams(_ streams: @escaping @Sendable (TaskKind) -> Bool = { _ in true }) -> Fault {
        with { $0.streams = streams }
    }

    /// Whether such a task can meet it.
    func fits(_ kind: TaskKind) -> Bool { kind.isStream ? streams(kind) : kinds(kind) }

    /// Whether it can happen over a medium.
    func fits(_ medium: Medium) -> Bool {
        // A simulation has queues of its own alone, and no descriptors.
        if medium.isSimulated, disturb != nil || isProcessWide { return false }
        return switch medium {
        case .tcp: !needsTLS
        case .memory: !needsSockets && !needsTLS
        case .secure: !needsSockets && !needsOpenness && !needsTLS
        case .tls: !needsSockets && !needsOpenness
        }
    }

    func expecting(_ expectation: @escaping @Sendable (TaskKind) -> Expectation) -> Fault {
        with { $0.expectation = expectation }
    }

    func configured(_ configure: @escaping @Sendable (URLSessionConfiguration, Stage) -> Void) -> Fault {
        with { $0.configure = configure }
    }

    /// A background session waits for its end.
    var passing: Fault { with { $0.isPassing = true } }

    /// Whether a task waits until its time is over.
    func passesTime(for kind: TaskKind) -> Bool { passesTime || isPassing && kind.isBackground }

    /// What has to come of it with a kind of task.
    func outcome(for kind: TaskKind) -> Expectation {
        isPassing && kind.isBackground ? .failure(.timedOut) : expectation(kind)
    }

    /// Time passes while nothing else does.
    var timed: Fault { with { $0.passesTime = true } }
}

/// What the user has to see in the end.
enum Expectation: Sendable {
    /// The task succeeds with this status and body; without a body, that of the stage.
    case success(status: Int = 200, Data? = nil)
    /// It fails with this code; the error speaks of the URL, or of this one instead.
    case failure(URLError.Code, at: String? = nil)
    /// What happens comes too late or just in time: a success is right, and so is a failure with one of these codes.
    case either(URLError.Code, or: URLError.Code? = nil)
    /// The failure is that of the user's own code, as it was thrown.
    case foreign

    /// A success with a text for a body.
    static func text(_ text: String, status: Int = 200) -> Expectation {
        .success(status: status, Data(text.utf8))
    }
}
