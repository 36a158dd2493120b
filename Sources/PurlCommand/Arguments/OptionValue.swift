extension ArraySlice<String> {
    /// Takes the word that follows an option as its value.
    mutating func takeValue(of option: String, _ topic: Usage) throws(UsageError) -> String {
        guard let value = popFirst() else { throw UsageError("“\(option)” needs a value.", topic) }
        return value
    }
}
