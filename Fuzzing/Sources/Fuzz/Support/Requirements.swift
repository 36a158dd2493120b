import Foundation

/// Ends the process, which libFuzzer takes for a find, when a property does not hold.
func require(_ holds: @autoclosure () -> Bool, _ property: @autoclosure () -> String) {
    guard !holds() else { return }
    fail(property())
}

/// Two ways must lead to the same.
func requireSame<Value: Equatable>(_ one: Value, _ other: Value, _ property: @autoclosure () -> String) {
    guard one != other else { return }
    fail("\(property())\n  one:   \(one)\n  other: \(other)")
}

/// A property does not hold.
func fail(_ property: String) -> Never {
    FileHandle.standardError.write(Data("Does not hold: \(property)\n".utf8))
    abort()
}
