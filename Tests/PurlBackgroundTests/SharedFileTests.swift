import Testing

@testable import Purl
@testable import SessionFixtures

/// A program can make several downloads from the same resume data: their entries name one partial file.
@Suite("Tasks of a background session that have one partial file or upload")
struct SharedFileTests {
    enum Step: Sendable {
        case made(Int)
        case ended(Int, JournaledTask.Ending)
        case runsAgain(Int)
        case over(Int)
        case complete(Int)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        /// The tasks that the next process finds.
        let tasks: [Int]
        /// The one that has the file then.
        let owner: Int?
    }

    static let rows: [Row] =
        [.cancelled, .stopped, .failed].flatMap { (ending: JournaledTask.Ending) in
            [
                Row(
                    testDescription: "one was made from the resume data of another that is \(ending)",
                    steps: [.made(1), .ended(1, ending), .made(2)], tasks: [2], owner: 2),
                Row(
                    testDescription: "that one is over, too, and the other is \(ending)",
                    steps: [.made(1), .ended(1, ending), .made(2), .over(2)], tasks: [], owner: nil),
                Row(
                    testDescription: "the older one is \(ending) since, and its last call has not returned",
                    steps: [.made(1), .made(2), .ended(1, ending)], tasks: [1, 2], owner: 2),
                Row(
                    testDescription: "the newer one is \(ending)",
                    steps: [.made(1), .made(2), .ended(2, ending)], tasks: [1, 2], owner: 1),
                Row(
                    testDescription: "all are \(ending)",
                    steps: [.made(1), .made(2), .ended(1, ending), .ended(2, ending)], tasks: [1, 2], owner: 2),
            ]
        } + [
            Row(
                testDescription: "neither has ended", steps: [.made(1), .made(2), .made(3)], tasks: [1, 2, 3], owner: 3),
            Row(
                testDescription: "the older one is complete", steps: [.made(1), .complete(1), .made(2)], tasks: [1, 2],
                owner: 1),
            Row(
                testDescription: "the older one had failed, and runs again",
                steps: [.made(1), .ended(1, .failed), .runsAgain(1), .made(2)], tasks: [1, 2], owner: 2),
        ]

    @Test("All that are not over are there after a kill, and one of them has the file", arguments: rows)
    func afterKill(row: Row) throws {
        let (home, files) = (BackgroundHome(), MemoryFiles())
        let store = try home.store(files)
        for step in row.steps {
            switch step {
            case .made(let number): try store.add(record(number, in: home))
            case .ended(let number, let ending): try store.update(number) { $0.ending = ending }
            case .over(let number): store.remove(number)
            case .runsAgain(let number): try store.update(number) { $0.ending = nil }
            case .complete(let number):
                try store.update(number) {
                    $0.finished = .init(partialName: Self.name, length: 20, url: "", status: 200, headers: [:])
                }
            }
        }
        store.close()
        let next = try home.store(files)
        #expect(next.restored.map(\.identifier) == row.tasks)
        let owners = next.restored.filter { $0.partialName == Self.name }.map(\.identifier)
        #expect(owners == [row.owner].compactMap(\.self))
        next.close()
    }

    @Test("An upload that failed is over when another one continues at its resource", arguments: [true, false])
    func uploads(isContinued: Bool) throws {
        let (home, files) = (BackgroundHome(), MemoryFiles())
        let store = try home.store(files)
        for number in 1...2 {
            var record = try home.record(number)
            record.upload = UploadResumeData(
                originalRequest: record.originalRequest, creatingRequest: record.originalRequest,
                resource: "http://127.0.0.1/uploads/\(isContinued ? 1 : number)", interopVersion: .eight, offset: 10,
                sent: 10, length: 20, content: .stream)
            try store.add(record)
            try store.update(1) { $0.ending = .failed }
        }
        store.close()
        let next = try home.store(files)
        #expect(next.restored.map(\.identifier) == (isContinued ? [2] : [1, 2]))
        next.close()
    }

    private static let name = "purl-00000000-0000-0000-0000-000000000003.partial"

    private func record(_ number: Int, in home: BackgroundHome) throws -> JournaledTask {
        var record = try home.record(1)
        record.identifier = number
        record.resume = ResumeData(
            originalRequest: record.originalRequest, currentRequest: record.originalRequest, partialName: Self.name,
            bytesReceived: 10, totalBytes: 20, validator: "\"v1\"", tailDigest: String(repeating: "0", count: 64))
        return record
    }
}
