import Foundation

/// A property list in XML that may come from anywhere.
///
/// Foundation's parser cannot be given everything: it recurses into containers, so that some thousands of them end the
/// process, and it traps on a number that is not UTF-8. Such a list is refused before it is parsed.
package struct UntrustedPropertyList {
    private let content: Data
    private let decoder = PropertyListDecoder()

    /// `nil` for what is not XML, is not UTF-8, or has more dictionaries and arrays than `maximumContainers`.
    package init?(_ content: Data, maximumContainers: Int) {
        guard content.starts(with: "<?xml".utf8), String(validating: content, as: UTF8.self) != nil,
            Self.containers(in: content, upTo: maximumContainers) <= maximumContainers
        else { return nil }
        self.content = content
    }

    /// `nil` when an entry is missing or of the wrong type.
    package func decode<Value: Decodable>(_ type: Value.Type) -> Value? {
        try? decoder.decode(type, from: content)
    }

    private static func containers(in content: Data, upTo maximum: Int) -> Int {
        var count = 0
        for tag in ["<array", "<dict"] {
            var start = content.startIndex
            while count <= maximum, let range = content.range(of: Data(tag.utf8), in: start..<content.endIndex) {
                count += 1
                start = range.upperBound
            }
        }
        return count
    }
}
