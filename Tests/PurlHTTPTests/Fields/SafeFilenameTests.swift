import PurlHTTP
import Testing

@Suite("Safe names of files (RFC 6266 §4.3)")
struct SafeFilenameTests {
    @Test(
        "A name is one path component that is neither hidden nor an option, without invisible characters",
        arguments: [
            ("film.mkv", "film.mkv"), ("a b.txt", "a b.txt"), ("中.txt", "中.txt"), (".bashrc", "bashrc"),
            ("--help", "help"), (" . -rf", "rf"), ("-\u{301}rf", "\u{301}rf"), (".\u{301}x", "\u{301}x"),
            ("a/b\\c", "a_b_c"), ("../\u{301}x", "_\u{301}x"), ("a\u{0}b\u{7F}c\u{85}d\u{9B}e.txt", "abcde.txt"),
            ("photo\u{202E}gpj.exe", "photogpj.exe"), ("a\u{2028}b\u{2029}c", "abc"), ("\u{FEFF}a\u{2066}b", "ab"),
            ("\u{200D}.a", "a"), ("a.part\u{200D}", "a.part"), ("می\u{200C}خواهم", "می\u{200C}خواهم"),
            ("👩\u{200D}👧.jpg", "👩\u{200D}👧.jpg"), ("a.txt. ", "a.txt"),
        ])
    func names(text: String, name: String) {
        #expect(SafeFilename.make(from: text)?.unicodeScalars.elementsEqual(name.unicodeScalars) == true)
    }

    @Test(
        "Of some texts nothing is left", arguments: ["", ".", "..", "---", " . ", "\u{202E}", "\u{200D}", "\n\u{85}"])
    func nothing(text: String) {
        #expect(SafeFilename.make(from: text) == nil)
    }

    @Test(
        "A long name is cut between characters, begins as it did, and keeps its extension",
        arguments: ["x", "ä", "中", "👩\u{200D}👩\u{200D}👧", "e\u{301}"])
    func long(letter: String) throws {
        let name = try #require(SafeFilename.make(from: String(repeating: letter, count: 300) + ".txt"))
        #expect((220...255).contains(name.utf8.count))
        #expect(name.hasSuffix(".txt"))
        #expect(name.dropLast(4).allSatisfy { letter == String($0) })
    }

    @Test(
        "What cutting leaves is a safe name, too",
        arguments: [
            "a" + String(repeating: ".", count: 300) + "-x", String(repeating: "-.", count: 200) + "x",
            String(repeating: "x", count: 240) + String(repeating: "-", count: 30) + ".mkv",
            "e" + String(repeating: "\u{301}", count: 300), "x." + String(repeating: "y", count: 300),
            String(repeating: "x", count: 250) + ".partner" + String(repeating: "z", count: 40),
        ])
    func cut(text: String) throws {
        let name = try #require(SafeFilename.make(from: text, reservedSuffixes: [".part"]))
        #expect((1...255).contains(name.utf8.count))
        #expect(name.first != "." && name.first != "-" && name.last != ".")
        #expect(!name.hasSuffix(".part"))
        #expect(SafeFilename.make(from: name, reservedSuffixes: [".part"]) == name)
    }

    @Test(
        "A name never ends with a reserved suffix",
        arguments: [
            ("a.mkv.part", "a.mkv_part"), ("a.PART", "a_PART"), ("a.resume.new", "a_resume_new"), ("a.new", "a.new"),
            ("part", "part"), (".part", "part"), ("a.part.", "a_part"), ("a.part.resume", "a.part_resume"),
        ])
    func reserved(text: String, name: String) {
        let suffixes = [".part", ".resume", ".resume.new"]
        #expect(SafeFilename.make(from: text, reservedSuffixes: suffixes) == name)
        #expect(SafeFilename.hasSuffix(suffixes, text) == (text != "a.new" && text != "part" && text != "a.part."))
    }
}
