import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Credentials of an upload that resumes", .timeLimit(.minutes(5)))
struct UploadCredentialTests {
    /// Gives a user and a password to every challenge.
    private final class Login: NSObject, URLSessionTaskDelegate, Sendable {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            completionHandler(.useCredential, URLCredential(user: "a", password: "b", persistence: .none))
        }
    }

    private static let basic = "Basic YTpi"
    private static let refusal = Reply.status(401).field("WWW-Authenticate", "Basic realm=\"uploads\"")

    @Test(
        "A challenge to the question about an upload, and to its rest, is answered as to any request",
        arguments: [
            (UploadTarget.Phase.offsetRetrieval, ["PUT", "HEAD", "HEAD", "PATCH"]),
            (.append, ["PUT", "HEAD", "PATCH", "PATCH"]),
        ])
    func challenge(phase: UploadTarget.Phase, methods: [String]) async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.reply(Self.refusal), at: phase)
        let session = site.session()
        let (body, _) = try await session.upload(for: site.request(), fromFile: site.file, delegate: Login())
        #expect(body == Data("done".utf8))
        #expect(site.methods == methods)
        #expect(site.server.requests.last?.fields["Authorization"] == Self.basic)
        site.expectWhole()
    }

    static let refusals: [(UploadTarget.Phase, Reply, Int)] = [UploadTarget.Phase.offsetRetrieval, .append].flatMap {
        phase in
        [
            (phase, refusal, 401), (phase, Reply.status(401), 401), (phase, Reply.text("no").status(403), 403),
            (phase, Reply.text("no").chunked().status(403), 403),
        ]
    }

    @Test("A 401 and a 403 fail the task, and its resume data resumes the upload", arguments: refusals)
    func refused(phase: UploadTarget.Phase, reply: Reply, status: Int) async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.reply(reply), at: phase)
        let error = await site.failure { $0.httpAdditionalHeaders = ["Authorization": "Bearer old"] }
        #expect(error?.code == .userAuthenticationRequired)
        #expect(
            error?.localizedFailureReasonText
                == "The server responded with \(status): it does not let the upload continue with these credentials.")
        let data = try #require(error?.uploadTaskResumeData)
        let before = site.methods.count
        // What the session adds to its requests is not in the resume data.
        let session = site.session { $0.httpAdditionalHeaders = ["Authorization": "Bearer new"] }
        let (body, response) = try await session.upload(resumeFrom: data)
        #expect(body == Data("done".utf8) && (response as? HTTPURLResponse)?.statusCode == 201)
        let later = site.server.requests.dropFirst(before)
        #expect(later.map(\.method) == ["HEAD", "PATCH"])
        #expect(later.allSatisfy { $0.fields["Authorization"] == "Bearer new" })
        site.expectWhole()
    }

    @Test("A redirect of the question that the delegate does not follow fails the task, which can be resumed")
    func refusedRedirect() async throws {
        let site = try ResumableSite()
        site.target.fault(.connection(.cut), at: .offset(400_000))
        site.target.fault(.reply(.redirect(307, to: "/elsewhere")), at: .offsetRetrieval)
        let witness = Witness(redirect: { _ in nil })
        let session = site.session(witness)
        let task = session.uploadTask(with: site.request(), fromFile: site.file).resumed()
        await witness.completion()
        let error = try #require(task.error as? URLError)
        #expect(error.code == .badServerResponse && task.response == nil)
        let (body, _) = try await session.upload(resumeFrom: try #require(error.uploadTaskResumeData))
        #expect(body == Data("done".utf8))
        site.expectWhole()
    }
}

@Suite("Uploads that are abandoned", .timeLimit(.minutes(5)))
struct AbandonedUploadTests {
    private let site: ResumableSite
    private let gate = ServerGate()

    init() throws {
        site = try ResumableSite()
        site.target.fault(.connection(.stall(until: gate)), at: .offset(400_000))
    }

    private func waitUntilCancelled() async {
        await site.target.wait { $0.map(\.state) == [.cancelled] }
        #expect(site.target.uploads.map(\.state) == [.cancelled])
    }

    @Test("cancel() deletes the upload resource, with the fields of the request but those of its content")
    func cancelled() async throws {
        let witness = UploadWitness()
        let session = site.session(witness)
        let fields = ["Authorization": "Basic eA==", "Content-Type": "video/mp4"]
        let task = session.uploadTask(with: site.request(fields), fromFile: site.file).resumed()
        await gate.reached()
        task.cancel()
        await witness.completion()
        await waitUntilCancelled()
        let request = try #require(site.server.requests.last)
        #expect(request.method == "DELETE" && request.path == "/files/upload-0")
        #expect(request.fields["Upload-Draft-Interop-Version"] == "8")
        #expect(request.fields["Authorization"] == "Basic eA==" && request.fields["Content-Type"] == nil)
    }

    @Test("Neither the task nor its session waits for the server")
    func withoutWaiting() async throws {
        let deletion = ServerGate()
        site.target.fault(.connection(.stall(until: deletion)), at: .cancellation)
        let witness = Witness()
        let session = site.session(witness)
        session.uploadTask(with: site.request(), fromFile: site.file).resume()
        await gate.reached()
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        #expect(witness.events.contains(.completed(.cancelled)))
        await deletion.reached()
        deletion.open()
        await waitUntilCancelled()
    }
}
