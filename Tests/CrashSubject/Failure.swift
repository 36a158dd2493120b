import Foundation

/// How an attempt failed, as a line for a script.
struct Failure {
    private let error: NSError
    private let bytesRecorded: Int64?

    init(_ error: any Error, recorded: Int64?) {
        self.error = error as NSError
        bytesRecorded = recorded
    }

    /// `failed CODE POSIX-CODE BYTES-RECORDED`, 0 for what is not there.
    var line: String { "failed \(error.code) \(posixCode ?? 0) \(bytesRecorded ?? 0)" }

    private var posixCode: Int? {
        var next: NSError? = error
        while let error = next {
            if error.domain == NSPOSIXErrorDomain { return error.code }
            next = error.userInfo[NSUnderlyingErrorKey] as? NSError
        }
        return nil
    }
}
