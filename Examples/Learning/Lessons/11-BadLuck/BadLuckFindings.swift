extension Lesson {
    static let badLuck = Lesson(
        number: 11, name: "BadLuck", scenes: [],
        findings: [
            Finding("lost-letter") { firstFailure(1...500, .kills, of: hastyPostman) },
            Finding("letter-twice") { firstFailure(1...500, .kills, of: carefulPostman) },
        ])
}
