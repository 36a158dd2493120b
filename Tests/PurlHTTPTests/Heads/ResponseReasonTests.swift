import PurlHTTP
import Testing

@Suite("Reason phrases")
struct ResponseReasonTests {
    @Test(
        "A status has its standard phrase",
        arguments: [
            (100, "Continue"), (200, "OK"), (206, "Partial Content"), (304, "Not Modified"), (404, "Not Found"),
            (416, "Range Not Satisfiable"), (503, "Service Unavailable"), (299, ""), (0, ""), (-1, ""),
        ])
    func standardReason(status: Int, reason: String) {
        #expect(ResponseHead.standardReason(for: status) == reason)
        #expect(ResponseHead(status: status).reason == reason)
    }
}
