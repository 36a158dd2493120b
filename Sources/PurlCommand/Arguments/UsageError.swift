/// The command line cannot be understood.
struct UsageError: Error, Equatable {
    /// What is wrong, as a sentence.
    let sentence: String
    /// Which text helps.
    let topic: Usage

    init(_ sentence: String, _ topic: Usage) {
        self.sentence = sentence
        self.topic = topic
    }
}
