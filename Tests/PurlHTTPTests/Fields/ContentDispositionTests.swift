import PurlHTTP
import Testing

@Suite("Content-Disposition (RFC 6266)")
struct ContentDispositionTests {
    static let names: [(String, String?)] = [
        ("attachment", nil),
        ("attachment; filename=a.txt", "a.txt"),
        ("ATTACHMENT; FileName=\"a b.txt\"", "a b.txt"),
        (#"attachment; filename="a\"b\\c;d.txt""#, #"a"b\c;d.txt"#),
        ("inline;filename = \"a.txt\" ; x=y", "a.txt"),
        ("attachment; filename=\"\"", ""),
        ("attachment; filename=", ""),
        ("attachment; filename=a.txt; filename=b.txt", "a.txt"),
        ("attachment; filename=\"grün.txt\"", "grün.txt"),
        ("attachment; filename=\"../../etc/passwd\"", "../../etc/passwd"),
        // filename* wins wherever it stands.
        ("attachment; filename=a.txt; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ("attachment; filename*=utf-8'en'%e2%82%ac; filename=a.txt", "€"),
        ("attachment; filename*=iso-8859-1'en'%A3%20rates", "£ rates"),
        ("attachment; filename*=\"UTF-8''a%20b\"", "a b"),
        ("attachment; filename*=UTF-8''", ""),
        // A broken filename* is ignored.
        ("attachment; filename=a.txt; filename*=UTF-8''%C3", "a.txt"),
        ("attachment; filename=a.txt; filename*=UTF-8''%C", "a.txt"),
        ("attachment; filename=a.txt; filename*=UTF-8''%ZZ", "a.txt"),
        ("attachment; filename=a.txt; filename*=UTF-16''a", "a.txt"),
        ("attachment; filename=a.txt; filename*=UTF-8'a", "a.txt"),
        ("attachment; filename=a.txt; filename*=\"UTF-8''a b\"", "a.txt"),
        ("attachment; filename*=nonsense", nil),
        // What servers send without asking the grammar.
        ("attachment; filename=a b.txt", "a b.txt"),
        ("attachment; filename=\"open", "open"),
        (#"attachment; filename="open\"#, #"open\"#),
        ("attachment; filename=\"a.txt\" rubbish; x=y", "a.txt"),
        ("attachment;;; ; filename=a.txt;", "a.txt"),
        ("attachment; filename; x", nil),
        ("attachment; =a.txt", nil),
        ("attachment; file name=a.txt", nil),
    ]

    @Test("The file name is read from `filename*`, else from `filename`", arguments: names)
    func filename(text: String, name: String?) throws {
        #expect(try #require(ContentDisposition(text)).filename == name)
    }

    @Test(
        "A value without a type is rejected",
        arguments: ["", " ", ";filename=a", "a b; filename=c", "\"x\"", "filename=\"a\""])
    func rejects(text: String) {
        #expect(ContentDisposition(text) == nil)
    }

    @Test("Type and parameter names are read without regard to case")
    func parameters() throws {
        let disposition = try #require(ContentDisposition("Form-Data; Name=\"A B\"; x=1"))
        #expect(disposition.type == "form-data")
        #expect(disposition.parameters == [FieldParameter(name: "name", value: "A B"), .init(name: "x", value: "1")])
        #expect(disposition.filename == nil)
    }

    static let written: [(String?, String)] = [
        (nil, "attachment"),
        ("a.txt", "attachment; filename=a.txt"),
        ("a b.txt", "attachment; filename=\"a b.txt\""),
        (#"a"b\c"#, #"attachment; filename="a\"b\\c""#),
        ("", "attachment; filename=\"\""),
        ("naïve €.txt", "attachment; filename=\"na_ve _.txt\"; filename*=UTF-8''na%C3%AFve%20%E2%82%AC.txt"),
        ("a'b*c%\u{1}é", "attachment; filename=\"a'b*c%_\"; filename*=UTF-8''a%27b%2Ac%25%01%C3%A9"),
    ]

    @Test("A disposition that is written is read with the same file name", arguments: written)
    func writes(filename: String?, text: String) {
        let disposition = ContentDisposition(type: "attachment", filename: filename)
        #expect(disposition.description == text)
        #expect(ContentDisposition(text)?.filename == filename)
    }
}
