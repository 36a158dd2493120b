/// The isolation of everything that touches a socket, a timer or a transfer's state.
///
/// Its executor is the one I/O thread, which starts on first use and lasts as long as the process. Between two objects
/// of this actor, and in every callback of the loop, calls are plain synchronous calls.
@globalActor package actor NetworkActor {
    /// The one instance.
    package static let shared = NetworkActor()

    /// The I/O thread's side of the actor.
    nonisolated let executor: NetworkExecutor

    private init() {
        executor = NetworkExecutor()
        executor.start()
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Runs `body` on the I/O thread soon, in order with the actor's jobs. From any thread.
    package nonisolated static func post(_ body: @escaping @Sendable @NetworkActor () -> Void) {
        shared.executor.post(body)
    }

    /// Runs `body` here and now, as code of this actor. Traps when the caller is not on the I/O thread.
    package nonisolated static func assumeIsolated<T>(_ body: @NetworkActor () throws -> T) rethrows -> T {
        shared.preconditionIsolated()
        return try withoutActuallyEscaping(body) { body in
            // The check above is what the type says, so the type may go: there is no other way to call it from here.
            try unsafeBitCast(body, to: (() throws -> T).self)()
        }
    }

    /// Runs `body` on the I/O thread once that has done everything its turn brought, before it sleeps: what would be
    /// done for each of many events can so be done once. At once when the caller is on another thread.
    package nonisolated static func afterTurn(_ body: @escaping @Sendable () -> Void) {
        if shared.executor.isCurrent {
            assumeIsolated { EventLoop.shared.runAfterTurn(body) }
        } else {
            body()
        }
    }

    /// Runs `body` at once when the caller is on the I/O thread already, and posts it otherwise.
    nonisolated static func perform(_ body: @escaping @Sendable @NetworkActor () -> Void) {
        if shared.executor.isCurrent {
            assumeIsolated(body)
        } else {
            post(body)
        }
    }
}
