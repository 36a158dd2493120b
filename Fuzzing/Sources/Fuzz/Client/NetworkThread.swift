import Dispatch
import PurlIO
import Synchronization

/// Runs something on the network thread, and waits for what comes of it.
func onNetworkThread<Value: Sendable>(_ body: @escaping @Sendable @NetworkActor () -> Value) -> Value {
    let result = Mutex<Value?>(nil)
    let done = DispatchSemaphore(value: 0)
    NetworkActor.post {
        let value = body()
        result.withLock { $0 = value }
        done.signal()
    }
    done.wait()
    guard let value = result.withLock({ $0 }) else { fail("the network thread answers") }
    return value
}
