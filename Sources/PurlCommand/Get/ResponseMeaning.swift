import Purl

/// What a response means for the download.
enum ResponseMeaning: Equatable {
    /// Why the bytes on disk are not used.
    enum Restart: Equatable {
        case changedOnServer
        case serverSendsAll
        case partsOfAnotherURL
        /// They came from a server that was not checked, or not over TLS.
        case partsUnchecked
        /// The record counts none of the bytes: those of the earlier response cannot be resumed.
        case partsUnresumable

        /// The reason, to follow "starting over: ".
        var text: String {
            switch self {
            case .changedOnServer: "the file has changed on the server"
            case .serverSendsAll: "the server sends the whole file"
            case .partsOfAnotherURL: "the partial file belongs to another URL"
            case .partsUnchecked: "who has sent the received bytes was not checked"
            case .partsUnresumable: "the received bytes cannot be resumed"
            }
        }
    }

    case begins
    case resumes(at: Int64)
    case startsOver(Restart)
    /// The bytes on disk are the whole file, according to the server.
    case isComplete
    /// A 304 to a request of `-N`: the file is the current version.
    case isUpToDate
    /// A status of 400 or above: the body is not the file.
    case errorPage(status: Int)
    /// Another status whose body is not the file.
    case notTheFile(status: Int)

    /// - Parameters:
    ///   - received: The task's count of received bytes: at the response, those that it resumes from.
    ///   - expected: The task's count of expected bytes.
    ///   - content: What the partial files held before the request.
    init(_ response: HTTPURLResponse, received: Int64, expected: Int64, content: PartFiles.Content) {
        switch response.statusCode {
        case 200:
            self = Self.whole(response, content)
        case 206:
            self = .resumes(at: received)
        case 416 where received > 0 && received == expected:
            self = .isComplete
        case 400...:
            self = .errorPage(status: response.statusCode)
        case let status:
            self = .notTheFile(status: status)
        }
    }

    /// Whether the body is the file or the rest of it.
    var isTheFile: Bool {
        switch self {
        case .begins, .resumes, .startsOver, .isComplete: true
        case .isUpToDate, .errorPage, .notTheFile: false
        }
    }

    /// Whether bytes of an earlier response belong to the file.
    var usesEarlierBytes: Bool {
        switch self {
        case .resumes, .isComplete: true
        case .begins, .startsOver, .isUpToDate, .errorPage, .notTheFile: false
        }
    }

    /// How many of the file's bytes are in this response; `nil` when there are none, or it is not the file.
    func newBytes(of whole: Int64) -> Int64? {
        switch self {
        case .resumes(let offset): whole - offset
        case .begins, .startsOver: whole
        case .isComplete, .isUpToDate, .errorPage, .notTheFile: nil
        }
    }

    private static func whole(_ response: HTTPURLResponse, _ content: PartFiles.Content) -> ResponseMeaning {
        switch content {
        case .nothing: .begins
        case .unfinished(let record): .startsOver(isSame(response, record) ? .serverSendsAll : .changedOnServer)
        case .ofAnotherURL(let record):
            .startsOver(UncheckedBytes.isMarked(record.url) ? .partsUnchecked : .partsOfAnotherURL)
        case .useless: .startsOver(.partsUnresumable)
        }
    }

    /// Whether no validator in the response differs from the record's.
    private static func isSame(_ response: HTTPURLResponse, _ record: ResumeRecord) -> Bool {
        let validators = ["ETag", "Last-Modified"].compactMap { response.value(forHTTPHeaderField: $0) }
        return validators.isEmpty || validators.contains { $0 == record.validator }
    }
}
