/// Why a command cannot do what it was asked to do.
struct CommandFailure: Error, Equatable {
    /// What is wrong, as a sentence.
    let sentence: String

    init(_ sentence: String) {
        self.sentence = sentence
    }
}
