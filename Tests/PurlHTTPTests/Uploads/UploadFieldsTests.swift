import PurlHTTP
import Testing

@Suite("The fields of a resumable upload")
struct UploadFieldsTests {
    static let versions: [(String, UploadVersion?)] = [
        ("6", .six), ("8", .eight), (" 8 ", .eight), ("8;a=1", .eight), ("08", .eight), ("7", nil), ("3", nil),
        ("", nil),
        ("8, 6", nil), ("\"8\"", nil), ("8.0", nil), ("-8", nil), ("?1", nil), ("8 6", nil),
        ("9223372036854775807", nil),
    ]

    @Test("A version that is spoken here is known", arguments: versions)
    func version(text: String, version: UploadVersion?) {
        #expect(UploadFields(["Upload-Draft-Interop-Version": text]).version == version)
    }

    static let flags: [(String, Bool?)] = [
        ("?1", true), ("?0", false), (" ?1 ", true), ("?1;a;b=\"?0\"", true), ("1", nil), ("true", nil), ("?2", nil),
        ("?", nil), ("", nil), ("?1, ?1", nil), ("?1 ?1", nil), ("?1;", nil), ("?10", nil),
    ]

    @Test("Completeness is a Boolean", arguments: flags)
    func completeness(text: String, isComplete: Bool?) {
        #expect(UploadFields(["Upload-Complete": text]).isComplete == isComplete)
        #expect(UploadFields(["Upload-Incomplete": text]).isComplete == isComplete.map { !$0 })
    }

    @Test("Upload-Complete counts before Upload-Incomplete")
    func bothFields() {
        #expect(UploadFields(["Upload-Complete": "?1", "Upload-Incomplete": "?1"]).isComplete == true)
        #expect(UploadFields(["Upload-Complete": "x", "Upload-Incomplete": "?1"]).isComplete == false)
    }

    static let offsets: [(String, Int64?)] = [
        ("0", 0), ("100", 100), ("007", 7), (" 100 ", 100), ("100;a", 100), ("999999999999999", 999_999_999_999_999),
        ("1000000000000000", nil), ("-1", nil), ("-0", 0), ("1.0", nil), ("", nil), ("1, 2", nil), ("1 2", nil),
        ("0x10", nil), ("+1", nil), ("\"1\"", nil), ("99999999999999999999", nil), ("1;A", nil),
    ]

    @Test("An offset is a number of bytes", arguments: offsets)
    func offset(text: String, offset: Int64?) {
        #expect(UploadFields(["Upload-Offset": text]).offset == offset)
    }

    static let limits: [(String, UploadLimits?)] = [
        ("max-size=100", UploadLimits(maximumSize: 100)),
        ("max-append-size=5, max-size=100", UploadLimits(maximumSize: 100, maximumAppendSize: 5)),
        ("max-age=3600, min-size=1, min-append-size=2", UploadLimits()),
        ("expires=3600,\tmax-size=1", UploadLimits(maximumSize: 1)),
        ("max-size=1, max-size=2", UploadLimits(maximumSize: 2)),
        ("other=(1 \"a)\" c;d=1);e, flag, *x=:AA==:, max-size=7;p=?0", UploadLimits(maximumSize: 7)),
        ("a=1.5, b=-12, c=@1659578233, d=tok/en:x, max-size=7", UploadLimits(maximumSize: 7)),
        ("", UploadLimits()),
        ("max-size", nil), ("max-size=?1", nil), ("max-size=-1", nil), ("max-size=1.0", nil), ("max-size=\"1\"", nil),
        ("max-size=(1)", nil), ("max-age=soon", nil), ("max-size=1,", nil), ("max-size=1 x", nil), ("max-size=", nil),
        ("Max-Size=1", nil), ("a=(1, max-size=1", nil), ("a=(1,2), max-size=1", nil), ("a=(1\"x\"), max-size=1", nil),
        ("a=\"x, max-size=1", nil), ("a=1234567890123.0, max-size=1", nil), ("a=1., max-size=1", nil),
        ("a=-, max-size=1", nil), ("a=:?:, max-size=1", nil),
    ]

    @Test("Limits are a dictionary; a known key with another value spoils it", arguments: limits)
    func limit(text: String, limits: UploadLimits?) {
        #expect(UploadLimits(text) == limits)
        #expect(UploadFields(["Upload-Limit": text]).limits == limits ?? UploadLimits())
    }

    @Test("Limits of a later response count, each for itself")
    func laterLimits() {
        var limits = UploadLimits(maximumSize: 1, maximumAppendSize: 2)
        limits.update(with: UploadLimits(maximumAppendSize: 3))
        #expect(limits == UploadLimits(maximumSize: 1, maximumAppendSize: 3))
    }

    @Test("The fields of the protocol are known by name")
    func names() {
        for name: FieldName in [
            "upload-complete", "Upload-Offset", "Upload-Length", "Upload-Limit", "Upload-Draft-Interop-Version",
            "Upload-Incomplete",
        ] { #expect(UploadFields.contains(name)) }
        for name: FieldName in ["Upload", "Content-Length", "Upload-Metadata"] { #expect(!UploadFields.contains(name)) }
    }

    @Test("Values are written as they are read")
    func writing() {
        #expect(UploadFields.text(true) == "?1" && UploadFields.text(false) == "?0")
        #expect(UploadVersion.allCases.map(\.fieldValue) == ["6", "8"])
    }
}
