import Foundation
import Testing

@testable import Learning

@Suite("Exercise 10: slots for each host")
struct Exercise10Tests {
    private func slots(total: Int, perHost: Int) -> any DownloadSlots {
        Exercises.areMine
            ? Exercise10(total: total, perHost: perHost) : Solution10(total: total, perHost: perHost)
    }

    private func url(_ text: String) throws -> URL { try #require(URL(string: "http://\(text)")) }

    @Test("No more run at a time than there are slots")
    func total() throws {
        var slots = slots(total: 2, perHost: 2)
        let urls = try ["a/1", "b/1", "c/1"].map(url)
        #expect(urls.map { slots.add($0) } == [[urls[0]], [urls[1]], []])
        #expect(slots.end(urls[0]) == [urls[2]])
    }

    @Test("A host whose slots are taken does not hold up others")
    func hosts() throws {
        var slots = slots(total: 3, perHost: 1)
        let urls = try ["a/1", "a/2", "b/1"].map(url)
        #expect(urls.map { slots.add($0) } == [[urls[0]], [], [urls[2]]])
    }

    @Test("The first that waits and may start takes the slot")
    func order() throws {
        var slots = slots(total: 2, perHost: 1)
        let urls = try ["a/1", "b/1", "a/2", "c/1", "a/3"].map(url)
        for url in urls { _ = slots.add(url) }
        #expect(slots.end(urls[1]) == [urls[3]])
        #expect(slots.end(urls[0]) == [urls[2]])
        #expect(slots.end(urls[2]) == [urls[4]])
    }
}
