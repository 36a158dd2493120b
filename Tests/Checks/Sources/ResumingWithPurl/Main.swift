import Foundation

/// One attempt to download a file, which resumes the attempt before: `.ci/torture` runs it until the file is there.
///
///     ResumingWithPurl task URL FOLDER
///     ResumingWithPurl downloader URL FOLDER CONNECTIONS
///     ResumingWithFoundationNetworking task URL FOLDER
///
/// The file is `FOLDER/file` in the end. The exit status is 0 when it is there, and 1 when the attempt failed.
@main
enum Main {
    static func main() async {
        let words = CommandLine.arguments
        guard words.count >= 4, let url = URL(string: words[2]) else { exit(2) }
        let folder = URL(fileURLWithPath: words[3], isDirectory: true)
        do {
            switch words[1] {
            case "task":
                try await TaskAttempt(in: folder).run(url)
            #if PURL
                case "downloader":
                    guard words.count == 5, let connections = Int(words[4]) else { exit(2) }
                    try await DownloaderAttempt.run(url, in: folder, connections: connections)
            #endif
            default:
                exit(2)
            }
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }
}
