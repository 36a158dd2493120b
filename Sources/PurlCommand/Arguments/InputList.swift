import Foundation

/// The orders in an `--input-file`: a URL in each line, after it `sha256=HEX` and `out=NAME` where wanted. Empty lines
/// and what follows a `#` at the beginning of a word are skipped.
struct InputList {
    /// Longer lists are refused.
    private static let maximumLength = 64 << 20

    /// Adds the list's orders to those of the command line.
    ///
    /// - Parameter path: "-" is standard input.
    static func orders(in path: String, after first: [Order]) throws(CommandFailure) -> [Order] {
        let name = path == "-" ? "standard input" : "“\(path)”"
        return try orders(text: try read(path, name), name: name, after: first)
    }

    /// - Parameter name: The list as it is called in sentences.
    static func orders(text: String, name: String, after first: [Order]) throws(CommandFailure) -> [Order] {
        var list = OrderList(first)
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            do throws(CommandFailure) {
                guard let order = try order(line) else { continue }
                guard list.add(order) else {
                    throw CommandFailure(
                        "\(order.url.absoluteString) is wanted already, under another name or checksum.")
                }
            } catch {
                throw CommandFailure("Line \(index + 1) of \(name): \(error.sentence)")
            }
        }
        guard !list.orders.isEmpty else { throw CommandFailure("There is no URL in \(name).") }
        return list.orders
    }

    private static func order(_ line: Substring) throws(CommandFailure) -> Order? {
        let words = line.split(whereSeparator: \.isWhitespace).prefix { !$0.hasPrefix("#") }.map(String.init)
        guard let first = words.first else { return nil }
        guard let url = Order.url(first) else {
            throw CommandFailure("“\(first)” is not a URL such as http://host/file.")
        }
        var order = Order(url: url)
        for word in words.dropFirst() {
            if word.hasPrefix("sha256="), order.checksum == nil {
                order.checksum = try checksum(String(word.dropFirst("sha256=".count)))
            } else if word.hasPrefix("out="), order.output == nil {
                order.output = try fileName(String(word.dropFirst("out=".count)))
            } else {
                throw CommandFailure("“\(word)” is neither sha256=HEX nor out=NAME, or it is there twice.")
            }
        }
        return order
    }

    private static func checksum(_ text: String) throws(CommandFailure) -> Checksum {
        guard let checksum = Checksum(text) else {
            throw CommandFailure("“sha256=” needs 64 hexadecimal digits, not “\(text)”.")
        }
        return checksum
    }

    private static func fileName(_ text: String) throws(CommandFailure) -> String {
        guard FileName.isPlain(text) else {
            throw CommandFailure("“out=” needs the plain name of a file, not “\(text)”.")
        }
        return text
    }

    private static func read(_ path: String, _ name: String) throws(CommandFailure) -> String {
        let data: Data?
        do {
            let file =
                path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            data = try file.read(upToCount: maximumLength + 1)
        } catch {
            throw CommandFailure("There is no list \(name) that can be read.")
        }
        guard let data, !data.isEmpty else { return "" }
        guard data.count <= maximumLength else {
            throw CommandFailure("\(name) is too long for a list of URLs.")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw CommandFailure("\(name) is not a text in UTF-8.")
        }
        // Some editors put a byte order mark before it.
        return text.hasPrefix("\u{FEFF}") ? String(text.unicodeScalars.dropFirst()) : text
    }
}
