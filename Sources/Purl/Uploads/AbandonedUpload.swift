import Foundation
internal import PurlHTTP
internal import PurlIO

/// The upload resource of an upload that was cancelled: the server need not keep what it has
/// (draft-ietf-httpbis-resumable-upload, upload cancellation).
///
/// It is deleted by a session of its own, with the settings of the one that has sent the upload, so that neither the task's
/// end nor the session's waits for the server. Whether the server allows it is of no consequence here.
struct AbandonedUpload {
    /// For how many seconds the server is waited for.
    private static let limit: TimeInterval = 10

    private let request: URLRequest
    private let settings: URLSessionConfiguration.Values

    /// - Parameters:
    ///   - deletion: The request that deletes the resource.
    ///   - session: The session that has sent the upload.
    init(_ deletion: URLRequest, of session: URLSession) {
        request = deletion
        var settings = session.settings
        settings.identifier = nil
        settings.urlCache = nil
        settings.trace = nil
        settings.waitsForConnectivity = false
        settings.timeoutIntervalForRequest = Self.limit
        settings.timeoutIntervalForResource = Self.limit
        self.settings = settings
    }

    /// Sends the request. Returns at once.
    func delete() {
        let session = URLSession(configuration: URLSessionConfiguration(settings))
        var request = request
        request.timeoutInterval = Self.limit
        // Without a handler nothing is collected of the response.
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
    }
}
