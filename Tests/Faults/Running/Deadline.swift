internal import Foundation

/// Runs work that has to be over in so many seconds of the wall's clock; then its task is cancelled, at which all waiting
/// here ends.
///
/// - Returns: What the work returned, and whether it was in time.
func within<Result: Sendable>(
    seconds: Double, _ work: @escaping @Sendable () async -> Result
) async -> (result: Result, isInTime: Bool) {
    let task = Task { (await work(), !Task.isCancelled) }
    let alarm = DispatchWorkItem { task.cancel() }
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: alarm)
    defer { alarm.cancel() }
    return await task.value
}
