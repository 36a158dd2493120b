import PurlHTTP
import Testing

@Suite("Entity tags (RFC 9110 §8.8.3)")
struct EntityTagTests {
    static let accepted: [(String, isWeak: Bool, opaque: String)] = [
        ("\"abc\"", false, "abc"), ("\"\"", false, ""), ("W/\"abc\"", true, "abc"), ("W/\"\"", true, ""),
        (" \"a,b\\c\" ", false, "a,b\\c"), ("\"é\"", false, "é"), ("\"W/\"", false, "W/"),
    ]

    @Test("A tag is read, and written unchanged", arguments: accepted)
    func accepts(text: String, isWeak: Bool, opaque: String) throws {
        let tag = try #require(EntityTag(text))
        #expect(tag.isWeak == isWeak)
        #expect(tag.opaque == opaque)
        #expect(EntityTag(tag.description) == tag)
    }

    @Test(
        "Any other text is not an entity tag",
        arguments: [
            "", "abc", "\"", "\"abc", "abc\"", "'abc'", "w/\"abc\"", "W/abc", "W/", "W/\"", "W /\"a\"", "\"a\"b\"",
            "\"a\", \"b\"", "\"a b\"", "\"a\tb\"", "\"a\u{0}\"", "\"a\u{7F}\"", "*",
        ])
    func rejects(text: String) {
        #expect(EntityTag(text) == nil)
    }

    static let comparisons: [(String, String, strong: Bool, weak: Bool)] = [
        ("W/\"1\"", "W/\"1\"", false, true),
        ("W/\"1\"", "W/\"2\"", false, false),
        ("W/\"1\"", "\"1\"", false, true),
        ("\"1\"", "\"1\"", true, true),
        ("\"1\"", "\"2\"", false, false),
        ("\"a\"", "\"A\"", false, false),
    ]

    @Test("Tags compare strongly and weakly", arguments: comparisons)
    func comparison(left: String, right: String, strong: Bool, weak: Bool) throws {
        let (left, right) = (try #require(EntityTag(left)), try #require(EntityTag(right)))
        #expect(left.strongMatch(right) == strong)
        #expect(right.strongMatch(left) == strong)
        #expect(left.weakMatch(right) == weak)
    }

    @Test("Canonically equivalent texts are different tags")
    func canonicalEquivalence() throws {
        let composed = try #require(EntityTag("\"\u{E9}\""))
        let decomposed = try #require(EntityTag("\"e\u{301}\""))
        #expect(!composed.strongMatch(decomposed))
        #expect(!composed.weakMatch(decomposed))
        #expect(composed != decomposed)
    }
}
