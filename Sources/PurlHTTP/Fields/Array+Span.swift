extension [UInt8] {
    /// Appends the bytes of `span` in `range`.
    mutating func append(_ span: Span<UInt8>, _ range: Range<Int>) {
        // Appending nothing to an empty array writes to the storage that all empty arrays share: a race.
        guard !range.isEmpty else { return }
        append(addingCapacity: range.count) { output in
            for index in range { output.append(span[index]) }
        }
    }
}
