/// Returns what a call gives to its handler.
///
/// A simulated process that is killed calls no handler any more, and its tasks wait for ever. A checked continuation would report
/// that as a misuse, in the output of the program that simulates.
///
/// - Parameter call: Calls its handler once.
func handlerResult<Value: Sendable>(of call: (@escaping @Sendable (Value) -> Void) -> Void) async -> Value {
    await withUnsafeContinuation { continuation in
        call { continuation.resume(returning: $0) }
    }
}
