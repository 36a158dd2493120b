import Foundation
import PurlHTTP

/// The time of a file, as the server knows it.
enum FileTime {
    /// When the file was modified, as a date of HTTP; `nil` when there is no file.
    static func date(of url: URL) -> String? {
        var status = stat()
        guard lstat(url.path, &status) == 0 else { return nil }
        return HTTPDate(secondsSinceEpoch: Int64(status.st_mtim.tv_sec)).description
    }

    /// Sets when the file was modified. A text that is not a date of HTTP changes nothing.
    static func set(_ text: String, of url: URL) {
        guard let date = HTTPDate(text) else { return }
        let time = timespec(tv_sec: Int(date.secondsSinceEpoch), tv_nsec: 0)
        let times = [time, time]
        utimensat(AT_FDCWD, url.path, times, AT_SYMLINK_NOFOLLOW)
    }
}
