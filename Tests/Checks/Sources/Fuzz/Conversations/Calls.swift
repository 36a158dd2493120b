import Foundation
import Synchronization

@testable import Purl

/// Wakes the thread that makes the calls when one has finished.
final class Bell: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    /// How many short moments something may take: 20 seconds, in which a process that is held up for a while spends one.
    private static let patience = 200
    private static let moment = DispatchTimeInterval.milliseconds(100)

    func ring() { semaphore.signal() }

    func wait(_ property: @autoclosure () -> String, until isSo: () -> Bool) {
        var rest = Self.patience
        while !isSo() {
            guard semaphore.wait(timeout: .now() + Self.moment) == .timedOut else { continue }
            rest -= 1
            if rest == 0 { fail(property()) }
        }
    }
}

/// A call of the user's, and what its handler received: once.
final class Call<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)
    private let name: String
    private let bell: Bell

    init(_ name: String, _ bell: Bell) {
        self.name = name
        self.bell = bell
    }

    var isOver: Bool { result.withLock { $0 != nil } }

    /// What a call that came about brought.
    var value: Value? {
        guard case .success(let value) = result.withLock({ $0 }) else { return nil }
        return value
    }

    func end(_ outcome: Result<Value, any Error>) {
        result.withLock { result in
            require(result == nil, "the handler of a \(name) is called once")
            result = outcome
        }
        bell.ring()
    }
}

extension Call<Void> {
    func end(_ error: (any Error)?) { end(error.map { .failure($0) } ?? .success(())) }
}

extension Call {
    /// Ends with what an async call brings that is given up as soon as it has been made.
    func endGivingUp(_ body: @escaping @Sendable () async throws -> Value) {
        let task = Task { [self] in
            do { end(.success(try await body())) } catch { end(.failure(error)) }
        }
        task.cancel()
    }
}

/// The calls to a task that have been made since the last wait for them.
struct OpenCalls {
    private let task: URLSessionTask
    private let bell: Bell
    /// Until something is waited for.
    private var isSuspended = false
    private var areOver: [() -> Bool] = []

    init(to task: URLSessionTask, _ bell: Bell) {
        self.task = task
        self.bell = bell
    }

    /// One that is about to be made.
    mutating func add<Value>(_ name: String) -> Call<Value> {
        let call = Call<Value>(name, bell)
        areOver.append { call.isOver }
        return call
    }

    mutating func suspend() {
        guard !isSuspended else { return }
        isSuspended = true
        task.suspend()
    }

    mutating func resume() {
        if isSuspended { task.resume() }
        isSuspended = false
    }

    /// Waits until they have come about.
    mutating func settle(_ property: String) {
        resume()
        bell.wait(property) { [areOver] in areOver.allSatisfy { $0() } }
        areOver = []
    }
}
