/// Something that holds for the first few answers only.
struct Limited<Value: Sendable>: Sendable {
    let value: Value
    /// For how many answers it holds.
    let times: Int

    /// What is left of it for the answer `index` (from 0): itself, now decided for good, or nothing.
    func settled(at index: Int) -> Limited? {
        index < times ? Limited(value: value, times: .max) : nil
    }
}
