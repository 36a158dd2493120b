import Foundation

/// Where the bytes of an answer's body come from.
enum Content: Sendable {
    case data(Data)
    case file(URL)
    case generated(GeneratedContent)

    /// Nothing.
    static let empty = Content.data(Data())
}
