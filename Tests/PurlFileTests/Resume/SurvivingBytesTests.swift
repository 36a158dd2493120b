import Foundation
import Testing

@testable import Purl
@testable import PurlConnections
@testable import SessionFixtures

@Suite("How many bytes of a file count after the end of a process")
struct SurvivingBytesTests {
    enum Boot: CaseIterable, Sendable { case same, other, unknown }
    enum Tail: CaseIterable, Sendable { case same, changed }

    /// A row: what was recorded of 1000 bytes of 5000, what the file is like, and how many of its bytes count.
    struct Row: Sendable, CustomStringConvertible {
        let state: ResumeData.WritingState?
        let boot: Boot
        let length: Int
        var tail = Tail.same
        /// How many bytes had reached the disk; `nil`: all that were recorded.
        var safe: Int64?
        let count: Int64?

        var description: String {
            "\(state.map { "\($0)" } ?? "old record"), \(boot) boot, \(length) bytes, \(tail) tail, safe: \(safe ?? 1000)"
        }
    }

    static let rows = [
        // Killed: what the file holds counts, as long as it holds what was recorded.
        Row(state: .writing, boot: .same, length: 999, count: nil),
        Row(state: .writing, boot: .same, length: 1000, count: 1000),
        Row(state: .writing, boot: .same, length: 1001, count: 1001),
        Row(state: .writing, boot: .same, length: 5000, count: 5000),
        Row(state: .writing, boot: .same, length: 1001, tail: .changed, count: nil),
        Row(state: .writing, boot: .same, length: 1001, safe: 400, count: 1001),
        // Nobody but another program writes beyond the resource's end.
        Row(state: .writing, boot: .same, length: 5001, count: 1000),
        // Stopped: the record counts as it is.
        Row(state: .stopped, boot: .same, length: 999, count: nil),
        Row(state: .stopped, boot: .same, length: 1000, count: 1000),
        Row(state: .stopped, boot: .same, length: 1001, count: 1000),
        Row(state: .stopped, boot: .same, length: 1001, tail: .changed, count: nil),
        Row(state: .stopped, boot: .same, length: 1001, safe: 400, count: 1000),
        // A power loss: what had reached the disk counts.
        Row(state: .writing, boot: .other, length: 999, count: nil),
        Row(state: .writing, boot: .other, length: 1000, count: 1000),
        Row(state: .writing, boot: .other, length: 5000, count: 1000),
        Row(state: .writing, boot: .other, length: 1001, tail: .changed, count: nil),
        Row(state: .writing, boot: .other, length: 1001, safe: 400, count: 400),
        Row(state: .writing, boot: .other, length: 399, safe: 400, count: nil),
        Row(state: .writing, boot: .other, length: 1001, tail: .changed, safe: 400, count: nil),
        Row(state: .stopped, boot: .other, length: 1000, count: 1000),
        Row(state: .stopped, boot: .other, length: 1001, count: 1000),
        Row(state: .stopped, boot: .other, length: 1001, safe: 0, count: 0),
        // A boot that is unknown counts as another one.
        Row(state: .writing, boot: .unknown, length: 5000, count: 1000),
        Row(state: .stopped, boot: .unknown, length: 5000, safe: 400, count: 400),
        // Earlier versions recorded what had reached the disk.
        Row(state: nil, boot: .unknown, length: 999, count: nil),
        Row(state: nil, boot: .unknown, length: 1000, count: 1000),
        Row(state: nil, boot: .unknown, length: 5000, count: 1000),
        Row(state: nil, boot: .unknown, length: 5000, tail: .changed, count: nil),
    ]

    private static let content = Data((0..<6000).map { UInt8(truncatingIfNeeded: $0 / 7) })

    private static func resumeData(
        recorded: Int, _ state: ResumeData.WritingState?, boot: String?, safe: Int64?, validator: String? = "\"v1\""
    ) throws -> ResumeData {
        let request = StoredRequest(URLRequest(url: try #require(URL(string: "http://127.0.0.1/file"))))
        return ResumeData(
            originalRequest: request, currentRequest: request, partialName: "file", bytesReceived: Int64(recorded),
            totalBytes: 5000, validator: validator, tailDigest: content.prefix(recorded).sha256, state: state,
            boot: boot, safe: safe.map { DigestedBytes(count: $0, tailDigest: content.prefix(Int($0)).sha256) })
    }

    private static func count(_ resume: ResumeData, _ file: Data) -> Int64? {
        resume.count(ofLength: Int64(file.count), inBoot: "this boot") {
            file.subdata(in: Int($0.lowerBound)..<Int($0.upperBound))
        }
    }

    @Test("The count follows from the boot, the state, and the file", arguments: rows)
    func rule(_ row: Row) throws {
        let boot: String? =
            switch row.boot {
            case .same: "this boot"
            case .other: "an earlier boot"
            case .unknown: nil
            }
        let resume = try Self.resumeData(recorded: 1000, row.state, boot: boot, safe: row.safe)
        var file = Self.content.prefix(row.length)
        // Within what had reached the disk in every row.
        if row.tail == .changed { file[10] ^= 1 }
        #expect(Self.count(resume, Data(file)) == row.count)
    }

    @Test(
        "Before the first checkpoint a killed transfer's bytes count in the same boot alone",
        arguments: [1, 4999, 5000])
    func firstRecord(length: Int) throws {
        let file = Data(Self.content.prefix(length))
        for (boot, count) in [("this boot", Int64(length)), ("an earlier boot", 0)] {
            let resume = try Self.resumeData(recorded: 0, .writing, boot: boot, safe: nil)
            #expect(Self.count(resume, file) == count)
        }
    }

    @Test("Without a validator only the whole counts")
    func noValidator() throws {
        let resume = try Self.resumeData(recorded: 0, .writing, boot: "this boot", safe: nil, validator: nil)
        #expect(Self.count(resume, Data(Self.content.prefix(4999))) == 0)
        #expect(Self.count(resume, Data(Self.content.prefix(5000))) == 5000)
    }

    @Test("Resume data with safe bytes beyond the recorded ones is refused")
    func refusal() throws {
        var resume = try Self.resumeData(recorded: 1000, .writing, boot: "this boot", safe: 400)
        #expect(try ResumeData(decoding: resume.encoded()) == resume)
        resume.safe?.count = 1001
        #expect(throws: ResumeData.Refusal.self) { try ResumeData(decoding: resume.encoded()) }
        resume.safe?.count = -1
        #expect(throws: ResumeData.Refusal.self) { try ResumeData(decoding: resume.encoded()) }
        resume.safe = DigestedBytes(count: 400, tailDigest: "no digest")
        #expect(throws: ResumeData.Refusal.self) { try ResumeData(decoding: resume.encoded()) }
    }
}
