/// What the command line says.
struct Options {
    var seconds = 10.0
    var seed: UInt64 = 1
    var threads = 8

    static let usage = "Stress [--seconds SECONDS] [--seed NUMBER] [--threads NUMBER]"

    init?(_ words: [String]) {
        guard words.count.isMultiple(of: 2) else { return nil }
        for index in stride(from: 0, to: words.count, by: 2) {
            switch (words[index], words[index + 1]) {
            case ("--seconds", let word):
                guard let number = Double(word), number > 0 else { return nil }
                seconds = number
            case ("--seed", let word):
                guard let number = UInt64(word) else { return nil }
                seed = number
            case ("--threads", let word):
                guard let number = Int(word), number > 0 else { return nil }
                threads = number
            default: return nil
            }
        }
    }
}
