import Foundation
import PurlIO
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The directions of a stream, without a connection")
@NetworkActor
struct StreamDirectionTests {
    /// The answers to reads and writes, in order.
    private final class Answers: Sendable {
        private let lines = Mutex<[String]>([])

        var all: [String] { lines.withLock { $0 } }

        func read() -> @Sendable (Result<(Data?, Bool), any Error>) -> Void {
            { result in
                self.lines.withLock { lines in
                    switch result {
                    case .success(let (data, isLast)):
                        let text = data.map { String(decoding: $0, as: UTF8.self) } ?? "nil"
                        lines.append(isLast ? text + "." : text)
                    case .failure: lines.append("failed")
                    }
                }
            }
        }

        func write(_ text: String) -> @Sendable ((any Error)?) -> Void {
            { error in self.lines.withLock { $0.append(error == nil ? text : text + " failed") } }
        }
    }

    private let answers = Answers()
    private let input = StreamInput(limit: 8)

    private func read(_ minimum: Int, _ maximum: Int) {
        input.append(StreamOperation(.read(minimum: minimum, maximum: maximum, answers.read())))
    }

    private func receive(_ text: String) { _ = input.receive(text.utf8) }

    private func serve() -> Bool {
        input.serve { _ in URLError(.networkConnectionLost) }
    }

    @Test("Reads are served in order, each with at least its minimum and at most its maximum")
    func reads() {
        read(2, 3)
        read(1, 9)
        receive("a")
        _ = serve()
        #expect(answers.all == [])
        receive("bcde")
        _ = serve()
        #expect(answers.all == ["abc", "de"])
    }

    @Test("The end of the stream serves the remaining reads and is reported")
    func end() {
        read(5, 9)
        read(1, 9)
        receive("ab")
        #expect(input.end())
        _ = serve()
        #expect(answers.all == ["ab.", "nil."])
        #expect(input.isOver)
    }

    @Test("A closed direction discards received bytes")
    func closed() {
        read(1, 1)
        input.append(StreamOperation(.close))
        read(1, 1)
        receive("abc")
        #expect(serve())
        #expect(!serve())
        #expect(answers.all == ["a", "failed"])
        #expect(!input.receive("d".utf8))
        #expect(input.takesMore)
    }

    @Test("No more than the limit is buffered unless a read needs it")
    func limit() {
        receive("12345678")
        #expect(!input.takesMore)
        read(9, 9)
        #expect(input.takesMore)
        receive("9")
        _ = serve()
        #expect(answers.all == ["123456789"])
    }

    @Test("Writes finish when the system takes their bytes, and fail once the direction is lost")
    func writes() {
        let output = StreamOutput()
        for text in ["ab", "cd", "ef"] { output.append(StreamOperation(.write(Data(text.utf8), answers.write(text)))) }
        output.finishWrites(after: 3)
        #expect(answers.all == ["ab"])
        #expect(output.lose(.cutShort))
        #expect(!output.lose(.cutShort))
        output.failWrites(URLError(.networkConnectionLost))
        #expect(answers.all == ["ab", "cd failed", "ef failed"])
        #expect(!output.hasMore)
    }
}
