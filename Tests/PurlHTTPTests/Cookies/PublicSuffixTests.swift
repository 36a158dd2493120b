import PurlHTTP
import Testing

@Suite("Public suffixes")
struct PublicSuffixTests {
    private static let list = """
        // A comment.
        // ===BEGIN ICANN DOMAINS===

        com
        uk
        co.uk and more after a blank
        *.ck
        !www.ck
        jp
        *.kawasaki.jp
        !city.kawasaki.jp
        cn
        公司.cn
        xn--55qx5d.hk
        *.bücher.example
        // ===BEGIN PRIVATE DOMAINS===
        github.io\r
        """

    @Test(
        "A domain is a public suffix by a rule, a wildcard or neither, in Unicode and in the form of the DNS",
        arguments: [
            ("co.uk", true), ("example.co.uk", false), ("uk", true), ("example.uk", false), ("co", false),
            ("github.io", true), ("a.github.io", false),
            ("a.ck", true), ("www.ck", false), ("a.www.ck", false), ("a.b.ck", false),
            ("a.kawasaki.jp", true), ("city.kawasaki.jp", false), ("kawasaki.jp", false),
            ("公司.cn", true), ("xn--55qx5d.cn", true), ("a.公司.cn", false), ("a.xn--55qx5d.cn", false),
            ("xn--55qx5d.hk", true),
            ("a.bücher.example", true), ("a.xn--bcher-kva.example", true), ("xn--bcher-kva.example", false),
            ("and", false), ("// A comment.", false), ("", false), (".", false), ("unknown.example", false),
        ])
    func rules(domain: String, isSuffix: Bool) {
        #expect(PublicSuffixes(Self.list.utf8).contains(domain) == isSuffix)
    }

    @Test("Without a list no domain is known as a public suffix", arguments: ["", "\n\n", "// co.uk"])
    func empty(list: String) {
        #expect(!PublicSuffixes(list.utf8).contains("co.uk"))
    }

    @Test(
        "Names in Unicode are found in the form that RFC 3492 gives them",
        arguments: [
            // RFC 3492 §7.1
            ("ليهمابتكلموشعربي؟", "xn--egbpdaj6bu4bxfgehfvwxn"),
            ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"),
            ("почемужеонинеговорятпорусски", "xn--b1abfaaepdrnnbgefbadotcwatmq2g4l"),
            ("3年b組金八先生", "xn--3b-ww4c5e180e575a65lsy2b"),
            ("ひとつ屋根の下2", "xn--2-u9tlzr9756bt3uc0v"),
            ("そのスピードで", "xn--d9juau41awczczp"),
            ("bücher", "xn--bcher-kva"),
        ])
    func punycode(name: String, encoded: String) {
        #expect(PublicSuffixes("\(name).example".utf8).contains("\(encoded).example"))
    }

    @Test("A rule with bytes that are no UTF-8, or with an endless name, is read without a trap")
    func strangeRules() {
        let long = String(repeating: "\u{10FFFF}", count: 100_000) + ".example"
        #expect(PublicSuffixes((long + "\n").utf8 + [0xFF, 0x2E, 0xFE, 0x0A] + "co.uk".utf8).contains("co.uk"))
    }
}
