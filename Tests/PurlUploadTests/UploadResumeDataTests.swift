import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import PurlConnections
@testable import SessionFixtures

@Suite("Resume data of uploads", .timeLimit(.minutes(5)))
struct UploadResumeDataTests {
    private let site: ResumableSite
    private let gate = ServerGate()

    init() throws {
        site = try ResumableSite()
    }

    /// The ways to give the content.
    enum Form: CaseIterable, Sendable {
        case file, data, stream
    }

    /// The resume data of an upload that was cancelled after 400,000 bytes.
    private func paused(_ form: Form = .file) async throws -> Data {
        site.target.fault(.connection(.stall(until: gate)), at: .offset(400_000))
        let content = site.content
        let witness = UploadWitness(whole: { ScriptedStream(content) })
        let session = site.session(witness)
        let task =
            switch form {
            case .file: session.uploadTask(with: site.request(), fromFile: site.file)
            case .data: session.uploadTask(with: site.request(), from: content.data)
            case .stream: session.uploadTask(withStreamedRequest: site.request())
            }
        task.resume()
        await gate.reached()
        let data = await task.cancelByProducingResumeData()
        await witness.completion()
        #expect(witness.events.last == .completed(.cancelled))
        #expect((task.error as? URLError)?.uploadTaskResumeData == data)
        #expect((task.error as? URLError)?.downloadTaskResumeData == nil)
        session.invalidateAndCancel()
        return try #require(data)
    }

    @Test("An upload that was cancelled resumes in another session", arguments: Form.allCases)
    func resumes(form: Form) async throws {
        let data = try await paused(form)
        let content = site.content
        let witness = UploadWitness(rest: { InputStream(data: content.bytes(Int($0)..<content.size)) })
        let session = site.session(witness)
        let task = session.uploadTask(withResumeData: data)
        #expect(task.originalRequest?.url == site.url && task.originalRequest?.httpMethod == "PUT")
        task.resume()
        await witness.completion()
        #expect(task.error == nil && (task.response as? HTTPURLResponse)?.statusCode == 201)
        #expect(site.methods == ["PUT", "HEAD", "PATCH"])
        #expect(witness.questions.contains(.neededStreamFrom(400_000)) == (form == .stream))
        site.expectWhole()
    }

    @Test("The handler and the async form resume as well")
    func otherForms() async throws {
        let data = try await paused()
        let session = site.session()
        let body = await withCheckedContinuation { continuation in
            session.uploadTask(withResumeData: data) { body, _, _ in continuation.resume(returning: body) }.resume()
        }
        #expect(body == Data("done".utf8))
        // What is complete is learned from the offset.
        let (_, response) = try await session.upload(resumeFrom: data)
        #expect((response as? HTTPURLResponse)?.statusCode == 204)
        site.expectWhole()
    }

    @Test("A task that resumes can be cancelled before it begins, and resumed again")
    func cancelledBeforeItBegins() async throws {
        let data = try await paused()
        let session = site.session()
        let again = await session.uploadTask(withResumeData: data).cancelByProducingResumeData()
        let (body, _) = try await session.upload(resumeFrom: try #require(again))
        #expect(body == Data("done".utf8))
    }

    @Test("Without an offer there is no resume data")
    func withoutOffer() async throws {
        site.target.fault(.connection(.stall(until: gate)), at: .offset(400_000))
        let session = site.session { $0.resumableUploads = .never }
        let task = session.uploadTask(with: site.request(), fromFile: site.file).resumed()
        await gate.reached()
        #expect(await task.cancelByProducingResumeData() == nil)
        #expect(await task.cancelByProducingResumeData() == nil)
    }

    @Test("cancel() leaves no resume data")
    func plainCancel() async throws {
        site.target.fault(.connection(.stall(until: gate)), at: .offset(400_000))
        let witness = UploadWitness()
        let session = site.session(witness)
        let task = session.uploadTask(with: site.request(), fromFile: site.file).resumed()
        await gate.reached()
        task.cancel()
        await witness.completion()
        #expect((task.error as? URLError)?.code == .cancelled)
        #expect((task.error as? URLError)?.uploadTaskResumeData == nil)
    }

    // MARK: Files that changed

    enum Change: CaseIterable, Sendable {
        case length, time, content
    }

    @Test("A file that changed is uploaded anew, with a reason", arguments: Change.allCases)
    func changedFile(change: Change) async throws {
        let data = try await paused()
        var bytes = site.content.data
        let resume = try UploadResumeData(decoding: data)
        let reason: String
        switch change {
        case .length:
            bytes.append(1)
            try bytes.write(to: site.file)
            reason = "it had 1048576 bytes, and has 1048577"
        case .time:
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: site.file.path)
            reason = "it has been written to"
        case .content:
            reason = "its bytes are not those that were sent last"
        }
        var blob = data
        if change == .content {
            // As if another file with the same length and time were in its place.
            guard case .file(let path, let sent) = resume.content else { return }
            var other = resume
            other.content = .file(path: path, try Self.withOtherDigest(sent))
            blob = try other.encoded()
        }
        let witness = UploadWitness()
        let session = site.session(witness)
        let task = session.uploadTask(withResumeData: blob).resumed()
        await witness.completion()
        #expect(task.error == nil)
        let restarts = witness.questions.compactMap { if case .restarted(let text) = $0 { text } else { nil } }
        #expect(restarts == ["The file \(site.file.path) has changed since its beginning was sent: \(reason)."])
        #expect(site.target.uploads.map(\.state) == [.incomplete, .complete])
        #expect(site.target.uploads.last?.content == bytes)
    }

    @Test("A file that another one of the same length and time replaces while it is sent is uploaded anew")
    func replacedFile() async throws {
        site.target.fault(.connection(.stall(until: gate)), at: .offset(400_000))
        site.target.fault(.connection(.cut), at: .offset(600_000))
        let witness = UploadWitness()
        let session = site.session(witness)
        let task = session.uploadTask(with: site.request(), fromFile: site.file)
        task.resume()
        await gate.reached()
        let other = GeneratedContent(size: site.content.size, seed: 19)
        let successor = site.sandbox.file("successor")
        try other.data.write(to: successor)
        var status = stat()
        try #require(stat(site.file.path, &status) == 0)
        #if canImport(Darwin)
            let times = [status.st_atimespec, status.st_mtimespec]
        #else
            let times = [status.st_atim, status.st_mtim]
        #endif
        try #require(utimensat(AT_FDCWD, successor.path, times, 0) == 0)
        try #require(rename(successor.path, site.file.path) == 0)
        gate.open()
        await witness.completion()
        #expect(task.error == nil)
        let restarts = witness.questions.compactMap { if case .restarted(let text) = $0 { text } else { nil } }
        let reason = "another file has taken its place"
        #expect(restarts == ["The file \(site.file.path) has changed since its beginning was sent: \(reason)."])
        #expect(site.target.uploads.last.map { other.matches($0.content) } == true)
        session.invalidateAndCancel()
    }

    private static func withOtherDigest(_ file: SentFile) throws -> SentFile {
        let text = String(decoding: try JSONEncoder().encode(file), as: UTF8.self)
        let digest = try #require(file.tail?.tailDigest)
        return try JSONDecoder().decode(
            SentFile.self, from: Data(text.replacingOccurrences(of: digest, with: Data().sha256).utf8))
    }

    @Test("A file that is gone fails the task, which can be resumed when it is back")
    func missingFile() async throws {
        let data = try await paused()
        let aside = site.sandbox.file("aside")
        try FileManager.default.moveItem(at: site.file, to: aside)
        let session = site.session()
        var again: Data?
        do {
            _ = try await session.upload(resumeFrom: data)
        } catch let error as URLError {
            #expect(error.code == .fileDoesNotExist)
            again = error.uploadTaskResumeData
        }
        try FileManager.default.moveItem(at: aside, to: site.file)
        let (body, _) = try await session.upload(resumeFrom: try #require(again))
        #expect(body == Data("done".utf8))
        site.expectWhole()
    }

    @Test("An upload resource that has expired fails the task")
    func expired() async throws {
        let data = try await paused()
        site.target.expire()
        let session = site.session()
        let error = await #expect(throws: URLError.self) { try await session.upload(resumeFrom: data) }
        #expect(error?.code == .badServerResponse && error?.uploadTaskResumeData == nil)
    }

    // MARK: Untrusted data

    @Test("What was written is read as the same")
    func roundTrip() async throws {
        let resume = try UploadResumeData(decoding: try await paused())
        #expect(try UploadResumeData(decoding: try resume.encoded()) == resume)
        #expect(resume.length == 1 << 20)
        #expect(resume.path == site.file.path)
        guard case .file(_, let sent) = resume.content else { return }
        #expect(try #require(sent.tail).count >= 400_000)
    }

    @Test("Any other data is refused")
    func refused() async throws {
        let resume = try UploadResumeData(decoding: try await paused())
        let changes: [(inout UploadResumeData) -> Void] = [
            { $0.uploadVersion = 2 },
            { $0.interopVersion = 7 },
            { $0.offset = -1 },
            { $0.offset = 2 << 20 },
            { $0.length = -1 },
            { $0.sent = -1 },
            { $0.sent = (1 << 20) + 1 },
            { $0.length = nil },
            { $0.originalRequest.url = "" },
            { $0.creatingRequest.url = "" },
            { $0.resource = "" },
            { $0.resource = "/upload" },
            { $0.resource = "https://example.com/upload" },
            { $0.resource = "http+unix://%2Ftmp%2Fsocket/upload" },
            { $0.content = .data(Data("other".utf8)) },
            { resume in
                if case .file(_, let file) = resume.content { resume.content = .file(path: "etc/passwd", file) }
            },
        ]
        let session = site.session()
        for (index, change) in changes.enumerated() {
            var changed = resume
            change(&changed)
            #expect(!changed.isSound, "change \(index)")
            let error = await #expect(throws: URLError.self) {
                try await session.upload(resumeFrom: try changed.encoded())
            }
            #expect(error?.code == .cannotDecodeRawData, "change \(index)")
        }
        for blob in [Data(), Data("text".utf8), try PropertyListEncoder().encode(["uploadVersion": 1])] {
            let error = await #expect(throws: URLError.self) { try await session.upload(resumeFrom: blob) }
            #expect(error?.code == .cannotDecodeRawData)
        }
        #expect(site.methods == ["PUT"])
    }
}
