import Testing

@testable import PurlCommand

@Suite("Redrawn terminal lines")
struct TerminalBlockTests {
    private func drawn(_ lines: String...) -> TerminalBlock {
        var block = TerminalBlock()
        _ = block.draw(lines.map { TerminalLine($0) }, width: 80)
        return block
    }

    @Test("are drawn one below the other, and redrawn in place")
    func drawing() {
        var block = TerminalBlock()
        #expect(block.draw(["a", "b", "c"], width: 80) == "a\u{1B}[K\nb\u{1B}[K\nc\u{1B}[K")
        #expect(block.draw(["a", "b", "d"], width: 80) == "\r\u{1B}[2Aa\u{1B}[K\nb\u{1B}[K\nd\u{1B}[K")
        #expect(block.draw(["a", "b", "d"], width: 80) == "")
    }

    @Test("need no cursor movement when there is one")
    func one() {
        var block = TerminalBlock()
        #expect(block.draw(["a"], width: 80) == "a\u{1B}[K")
        #expect(block.draw(["b"], width: 80) == "\rb\u{1B}[K")
        #expect(block.erase(width: 80) == "\r\u{1B}[J")
        #expect(block.erase(width: 80) == "")
    }

    @Test("are erased when they become fewer, and scroll when they become more")
    func changing() {
        var block = drawn("a", "b", "c")
        #expect(block.draw(["d"], width: 80) == "\r\u{1B}[2Ad\u{1B}[K\u{1B}[J")
        #expect(block.draw(["e", "f"], width: 80) == "\re\u{1B}[K\nf\u{1B}[K")
    }

    @Test("stay below printed lines")
    func printing() {
        var block = TerminalBlock()
        #expect(block.print("hello", width: 80) == "hello\n")
        block = drawn("a", "b")
        #expect(block.print("hello", width: 80) == "\r\u{1B}[1A\u{1B}[Jhello\na\nb")
        #expect(block.erase(width: 80) == "\r\u{1B}[1A\u{1B}[J")
        #expect(block.print("bye", width: 80) == "bye\n")
    }

    @Test("are erased completely after a narrower terminal has wrapped them")
    func narrowing() {
        var block = drawn("1234567890", "12345", "")
        #expect(block.draw(["x"], width: 5) == "\r\u{1B}[3Ax\u{1B}[K\u{1B}[J")
    }

    @Test(
        "have columns that are counted as a terminal does",
        arguments: [("film", 4), ("", 0), ("映画", 4), ("é", 1), ("e\u{301}", 1), ("🎬 a", 4)])
    func columns(text: String, columns: Int) {
        #expect(DisplayText.columns(text) == columns)
    }

    @Test(
        "are cut in the middle",
        arguments: [
            ("film", 6, "film  "), ("film", 4, "film"), ("film.mkv", 5, "fi…kv"), ("film.mkv", 6, "fil…kv"),
            ("film", 1, "…"), ("film", 0, ""), ("映画映画", 6, "映…画 "),
        ])
    func fitting(text: String, width: Int, result: String) {
        #expect(DisplayText.fitted(text, to: width) == result)
    }

    @Test("contain no control characters")
    func harmless() {
        #expect(DisplayText.printable("a\u{1B}[2Jb\u{9B}c\u{202E}d\te") == "a\u{FFFD}[2Jb\u{FFFD}c\u{FFFD}d\u{FFFD}e")
        #expect(DisplayText.printable("two\nlines, “é” 映画") == "two\nlines, “é” 映画")
    }
}
