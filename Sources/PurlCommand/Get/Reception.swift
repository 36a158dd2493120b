import Purl

/// What a response means for the download, in the user's terms.
enum Reception: Equatable {
    /// Why what was there is not used.
    enum Restart: Equatable {
        case changedOnServer
        case serverSendsAll
        case partsOfAnotherURL
        case partsUnknown

        /// The reason, to follow "starting over: ".
        var sentence: String {
            switch self {
            case .changedOnServer: "the file has changed on the server"
            case .serverSendsAll: "the server sends all of it again"
            case .partsOfAnotherURL: "the parts belong to another URL"
            case .partsUnknown: "nothing vouches for the bytes that are there"
            }
        }
    }

    case begins
    case goesOn(at: Int64)
    case startsOver(Restart)
    /// The server says that there is no more than what is there.
    case isComplete
    /// A status of 400 or above: the body is not the file.
    case errorPage(status: Int)
    /// Another status whose body is not the file.
    case notTheFile(status: Int)

    /// - Parameters:
    ///   - received: The task's count of bytes received: at its response, those it goes on from.
    ///   - expected: The task's count of bytes expected.
    ///   - content: What was there before.
    init(_ response: HTTPURLResponse, received: Int64, expected: Int64, content: PartFiles.Content) {
        switch response.statusCode {
        case 200:
            self = Self.whole(response, content)
        case 206:
            self = .goesOn(at: received)
        case 416 where received > 0 && received == expected:
            self = .isComplete
        case 400...:
            self = .errorPage(status: response.statusCode)
        case let status:
            self = .notTheFile(status: status)
        }
    }

    /// The body is the file or the rest of it.
    var isTheFile: Bool {
        switch self {
        case .begins, .goesOn, .startsOver, .isComplete: true
        case .errorPage, .notTheFile: false
        }
    }

    /// How many of the file's bytes come with this response; `nil` when none do, or it is not the file.
    func newBytes(of whole: Int64) -> Int64? {
        switch self {
        case .goesOn(let offset): whole - offset
        case .begins, .startsOver: whole
        case .isComplete, .errorPage, .notTheFile: nil
        }
    }

    private static func whole(_ response: HTTPURLResponse, _ content: PartFiles.Content) -> Reception {
        switch content {
        case .nothing: .begins
        case .unfinished(let record): .startsOver(isSame(response, record) ? .serverSendsAll : .changedOnServer)
        case .ofAnotherURL: .startsOver(.partsOfAnotherURL)
        case .unknown: .startsOver(.partsUnknown)
        }
    }

    /// Nothing in the response says that it is another version.
    private static func isSame(_ response: HTTPURLResponse, _ record: ResumeRecord) -> Bool {
        let validators = ["ETag", "Last-Modified"].compactMap { response.value(forHTTPHeaderField: $0) }
        return validators.isEmpty || validators.contains { $0 == record.validator }
    }
}
