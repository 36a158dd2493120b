import Foundation
internal import PurlConnections

extension DigestedBytes {
    static let nothing = DigestedBytes(count: 0, tailDigest: Data().sha256)
}

extension ResumeData {
    /// Whether the transfer had ended when its data was written.
    enum WritingState: String, Codable, Sendable {
        /// Bytes were to follow.
        case writing
        /// The transfer had ended, and these were all its bytes.
        case stopped
    }

    /// What this data vouches for after the end of the process that wrote it.
    struct Claim: Equatable {
        /// What happens to bytes that follow the verified ones.
        enum Rest: Equatable {
            case counts, isCut
        }

        /// These have to be in the file, and their last ones to have this digest.
        var verified: DigestedBytes
        var rest: Rest
    }

    /// What survives an end of the process. There are two kinds of crash:
    ///
    /// - The process was killed. The kernel has every byte that was written, in order; so while the machine has not booted
    ///   since, what a transfer still wrote counts up to the file's end, and what had ended counts as it is.
    /// - The machine lost power. Then only what had reached the disk counts.
    ///
    /// - Parameter current: The current boot; `nil` where it is unknown, and counts as another one.
    func claim(inBoot current: String?) -> Claim {
        let recorded = DigestedBytes(count: bytesReceived, tailDigest: tailDigest)
        guard let boot, boot == current else { return Claim(verified: safe ?? recorded, rest: .isCut) }
        return Claim(verified: recorded, rest: state == .writing ? .counts : .isCut)
    }

    /// How many bytes at the beginning of a file are those of the resource and can be resumed from; `nil` when it is not
    /// the file that this data describes.
    ///
    /// - Parameters:
    ///   - length: The file's length.
    ///   - read: Returns the file's bytes at some offsets.
    func count(
        ofLength length: Int64, inBoot boot: String?, read: (Range<Int64>) throws -> Data
    ) rethrows -> Int64? {
        let claim = claim(inBoot: boot)
        let verified = claim.verified
        guard length >= verified.count else { return nil }
        if verified.count > 0 {
            let digest = try read(DigestedBytes.tail(endingAt: verified.count)).sha256
            guard digest == verified.tailDigest.lowercased() else { return nil }
        }
        let count =
            switch claim.rest {
            case .isCut: verified.count
            // The transfer wrote nothing beyond the resource's end: what is there is not its own.
            case .counts: totalBytes.map { length <= $0 } ?? true ? length : verified.count
            }
        // Without a validator only the whole is of use.
        return validator != nil || count == totalBytes ? count : 0
    }

    /// This data for the bytes of `sink` that count now; `nil` when none do. What lies beyond them is cut off.
    func settled(for sink: any BodySink, inBoot boot: String?) throws -> ResumeData? {
        let length = try sink.length
        guard length > 0, let count = try count(ofLength: length, inBoot: boot, read: sink.bytes), count > 0 else {
            return nil
        }
        if length > count { try sink.truncate(to: count) }
        if state != .writing, count == bytesReceived { return self }
        let verified = claim(inBoot: boot).verified
        var settled = self
        settled.state = .stopped
        settled.boot = boot
        settled.bytesReceived = count
        settled.tailDigest = count == verified.count ? verified.tailDigest : try sink.tailDigest(endingAt: count)
        let safe = safe ?? DigestedBytes(count: bytesReceived, tailDigest: tailDigest)
        settled.safe = safe.count < count ? safe : nil
        return settled
    }
}
