import Foundation
import Testing

@testable import LearningExercises

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
        #expect(
            urls.map { slots.add($0) } == [[urls[0]], [urls[1]], []],
            "Two of the three start at once, and the third waits for a slot.")
        #expect(
            slots.end(urls[0]) == [urls[2]],
            "The end of the first gives its slot to the third.")
    }

    @Test("A host whose slots are taken does not hold up others")
    func hosts() throws {
        var slots = slots(total: 3, perHost: 1)
        let urls = try ["a/1", "a/2", "b/1"].map(url)
        #expect(
            urls.map { slots.add($0) } == [[urls[0]], [], [urls[2]]],
            "A second file of host a waits, and the file of host b starts though it was added later.")
    }

    @Test("The first that waits and may start takes the slot")
    func order() throws {
        var slots = slots(total: 2, perHost: 1)
        let urls = try ["a/1", "b/1", "a/2", "c/1", "a/3"].map(url)
        for url in urls { _ = slots.add(url) }
        #expect(
            slots.end(urls[1]) == [urls[3]],
            "The slot of host b goes to host c: the files of host a that wait may not start yet.")
        #expect(
            slots.end(urls[0]) == [urls[2]],
            "The slot of a/1 goes to a/2, which has waited longest.")
        #expect(
            slots.end(urls[2]) == [urls[4]],
            "The slot of a/2 goes to a/3.")
    }
}
