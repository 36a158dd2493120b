import Foundation
internal import PurlHTTP
package import PurlIO

/// The resume data of an upload from a file, for a program that keeps it beside the file.
package struct UploadResumeRecord: Sendable {
    /// The length of the file whose bytes were sent.
    package let length: Int64
    /// When that was last written to.
    package let modified: FileStatus.Time
    private let resume: UploadResumeData

    /// `nil` for what is not the resume data of an upload from a file.
    package init?(_ resumeData: Data) {
        guard let resume = try? UploadResumeData(decoding: resumeData), case .file(_, let file) = resume.content
        else { return nil }
        length = file.length
        modified = file.modified
        self.resume = resume
    }

    /// Whether a file may be the one whose bytes were sent. Its bytes are not looked at.
    package func mayBe(of file: FileStatus) -> Bool {
        guard case .file(_, let sent) = resume.content else { return false }
        return sent.mayBe(file)
    }

    /// Resume data for the same upload, of the file where it is now, and with the fields of another request.
    ///
    /// What the stored request had is not used: its credentials may have expired.
    ///
    /// - Parameters:
    ///   - request: A request for the URL that the upload was begun with.
    ///   - file: Where the file is.
    package func resumeData(for request: URLRequest, from file: URL) -> Data? {
        guard case .file(_, let sent) = resume.content, let original = resume.originalRequest.request?.url,
            let creating = resume.creatingRequest.request?.url
        else { return nil }
        var moved = resume
        moved.content = .file(path: file.absoluteURL.path, sent)
        moved.originalRequest = StoredRequest(request)
        // It was redirected there.
        let wasRedirected = creating != original
        moved.creatingRequest = StoredRequest(
            wasRedirected ? Redirect.request(request, movedFrom: request.url ?? original, to: creating) : request)
        return try? moved.encoded()
    }

    /// The request that has the server delete what it has of the upload: the draft's cancellation.
    package var cancellation: URLRequest? {
        guard let creating = resume.creatingRequest.request, let resource = URL(string: resume.resource) else {
            return nil
        }
        var request = creating.toUploadResource("DELETE", at: resource)
        let version = UploadVersion(rawValue: resume.interopVersion)
        request.setValue(version?.fieldValue, forHTTPHeaderField: "Upload-Draft-Interop-Version")
        return request
    }
}
