import PurlHTTP
import Testing

@Suite("Header fields")
struct HeaderFieldsTests {
    let fields: HeaderFields = ["Accept": "a", "X": "1", "ACCEPT": "b", "Y": "2"]

    @Test("Names compare without regard to case")
    func names() {
        #expect(FieldName("ETag") == FieldName.etag)
        #expect(FieldName("ETag").hashValue == FieldName("eTAG").hashValue)
        #expect(FieldName("A") != FieldName("B"))
        #expect(FieldName("A") != FieldName("AA"))
        #expect(FieldName("É") != FieldName("é"))
        #expect(FieldName("@") != FieldName("`"))
        #expect(FieldName("cOOKie").description == "cOOKie")
        #expect(fields["accept"] == fields["ACCEPT"])
    }

    @Test("Order, spelling and repeated fields are kept")
    func order() {
        #expect(fields.map(\.name) == ["Accept", "X", "ACCEPT", "Y"])
        #expect(fields.map(\.value) == ["a", "1", "b", "2"])
        #expect(fields.count == 4)
        #expect(fields.last == HeaderFields.Field(name: "y", value: "2"))
        #expect(HeaderFields().isEmpty)
    }

    @Test("The values of a name are given joined or one by one")
    func values() {
        #expect(fields[.accept] == "a, b")
        #expect(fields.values(of: .accept) == ["a", "b"])
        #expect(fields["x"] == "1")
        #expect(fields["z"] == nil)
        #expect(fields.values(of: "z").isEmpty)
        #expect(fields.contains("y"))
        #expect(!fields.contains("z"))
    }

    @Test("Setting a field replaces all its lines at the place of the first")
    func setting() {
        var fields = fields
        fields[.accept] = "c"
        #expect(fields == ["Accept": "c", "X": "1", "Y": "2"])
        fields["z"] = "3"
        #expect(fields == ["Accept": "c", "X": "1", "Y": "2", "Z": "3"])
        fields["x"] = nil
        fields["nothing"] = nil
        #expect(fields == ["Accept": "c", "Y": "2", "Z": "3"])
        fields["Z"] = ""
        #expect(fields == ["Accept": "c", "Y": "2", "Z": ""])
    }

    @Test("Appending adds a line, and removing drops all lines of a name")
    func appending() {
        var fields = fields
        fields.append("x", "3")
        #expect(fields.values(of: "X") == ["1", "3"])
        fields.removeAll("X")
        #expect(fields == ["Accept": "a", "ACCEPT": "b", "Y": "2"])
        fields.removeAll(.accept)
        fields.removeAll("y")
        #expect(fields.isEmpty)
    }

    @Test("Sections are equal when they have the same lines in the same order, names without regard to case")
    func equality() {
        #expect(HeaderFields() == [:])
        #expect(["A": "1"] as HeaderFields == ["a": "1"])
        #expect(["A": "1"] as HeaderFields != ["A": "2"])
        #expect(["A": "x"] as HeaderFields != ["A": "X"])
        #expect(["A": "1", "B": "2"] as HeaderFields != ["B": "2", "A": "1"])
        #expect(["A": "\u{E9}"] as HeaderFields != ["A": "e\u{301}"])
        #expect(["A": "1", "A": "2"] as HeaderFields != ["A": "1, 2"])
    }

    @Test("Parsed fields can be changed like others")
    func changingParsedFields() throws {
        let text = "HTTP/1.1 200 OK\r\nA:  1\r\n 2\r\nB: 3\r\nA: 4\r\n\r\n"
        var fields = try #require(responseHeads([text.bytes]).found.first?.fields)
        fields["A"] = "5"
        fields.append("C", "6")
        #expect(fields == ["A": "5", "B": "3", "C": "6"])
    }

    static let lists: [([String], [String])] = [
        (["a"], ["a"]),
        (["a, b,c"], ["a", "b", "c"]),
        (["a", "b, c"], ["a", "b", "c"]),
        ([" ,, a ,\t, b\t,"], ["a", "b"]),
        ([""], []),
        ([",,,"], []),
        ([#""a, b", c"#], [#""a, b""#, "c"]),
        ([#""a\", b", c"#], [#""a\", b""#, "c"]),
        ([#"x="a,b";y, z"#], [#"x="a,b";y"#, "z"]),
        ([#""open, b"#], [#""open, b"#]),
        ([#""open\"#], [#""open\"#]),
        ([#""open"#, "b"], [#""open"#, "b"]),
        ([#"W/"a,b", "c""#], [#"W/"a,b""#, #""c""#]),
        ([#"a\,b"#], [#"a\"#, "b"]),
    ]

    @Test("A list is divided at commas outside quoted strings", arguments: lists)
    func listElements(lines: [String], elements: [String]) {
        var fields: HeaderFields = ["Other": "x, y"]
        for line in lines { fields.append("List", line) }
        #expect(fields.listElements(of: "list") == elements)
    }

    @Test("A token is found in any line and any case, and only as a whole element")
    func tokens() {
        let fields: HeaderFields = ["Connection": "Keep-Alive, Upgrade", "connection": "TE", "Other": "close"]
        #expect(fields.hasToken("upgrade", in: .connection))
        #expect(fields.hasToken("te", in: .connection))
        #expect(fields.hasToken("KEEP-ALIVE", in: .connection))
        #expect(!fields.hasToken("keep", in: .connection))
        #expect(!fields.hasToken("close", in: .connection))
        #expect(!fields.hasToken("", in: .connection))
    }

    @Test("Setting a field repeatedly keeps the last value")
    func settingAgain() {
        var fields = fields
        for number in 0..<1_000 { fields["X"] = String(number) }
        #expect(fields == ["Accept": "a", "X": "999", "ACCEPT": "b", "Y": "2"])
    }
}
