/// Marks the tasks in which the timers of sessions sleep on a clock of the program's own, so that a clock for tests can tell
/// them from the program's own tasks.
package enum TimerSleep {
    /// Whether the current task sleeps for a timer of a session.
    @TaskLocal package static var isCurrent = false
}
