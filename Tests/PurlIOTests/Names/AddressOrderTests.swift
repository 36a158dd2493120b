import Testing

@testable import PurlIO

@Suite("RFC 8305 §4: the families take turns")
struct AddressOrderTests {
    @Test(arguments: [
        ([], []),
        (["::1"], ["::1"]),
        (["::1", "::2", "1.1.1.1", "2.2.2.2"], ["::1", "1.1.1.1", "::2", "2.2.2.2"]),
        (["1.1.1.1", "2.2.2.2", "::1", "::2"], ["1.1.1.1", "::1", "2.2.2.2", "::2"]),
        (["::1", "1.1.1.1", "2.2.2.2", "3.3.3.3"], ["::1", "1.1.1.1", "2.2.2.2", "3.3.3.3"]),
        (["::1", "::2", "::3", "1.1.1.1"], ["::1", "1.1.1.1", "::2", "::3"]),
        (["1.1.1.1", "1.1.1.1", "::1", "1.1.1.1"], ["1.1.1.1", "::1"]),
    ])
    func interleaving(answer: [String], tried: [String]) {
        let addresses = answer.map { Loopback.address($0, 80) }
        #expect(AddressOrder.interleaved(addresses).map(\.host) == tried)
    }
}
