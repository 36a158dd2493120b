import Foundation

/// One attempt to download a file, or to upload one, which resumes the attempt before: `.ci/torture` and `.ci/upload_torture` run
/// it until that is done.
///
///     ResumingWithPurl task URL FOLDER
///     ResumingWithPurl downloader URL FOLDER CONNECTIONS
///     ResumingWithPurl upload URL FOLDER
///     ResumingWithFoundationNetworking task URL FOLDER
///     ResumingWithFoundationNetworking upload URL FOLDER
///
/// The file is `FOLDER/file`. The exit status is 0 when it is there, or the server has it, and 1 when the attempt failed.
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
            case "upload":
                try await UploadAttempt(in: folder).run(url)
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
