/// The texts that explain the command line.
enum Usage: Equatable {
    case all
    case get
    case demo

    /// What `--version` prints.
    static let version = "1.0"

    /// The text, without a newline at its end.
    var text: String {
        switch self {
        case .all:
            """
            usage: purl get URL [-o FILE] [-H 'NAME: VALUE']… [--no-resume] [-q | -v]
                   purl demo
                   purl help [COMMAND]
                   purl --version

            Downloads files over HTTP, and goes on where an earlier attempt stopped.

              get    download a URL into a file
              demo   watch a download being cut off and resumed, without a network
            """
        case .get:
            """
            usage: purl get URL [-o FILE] [-H 'NAME: VALUE']… [--no-resume] [-q | -v]

            Downloads URL into FILE. Until FILE is complete its bytes are in FILE.part, and what it takes
            to go on is in FILE.resume. After an interruption the same command goes on from there.

              -o, --output FILE     where to save; replaces FILE when the download is complete.
                                    Without it the server's name is used, and nothing is replaced.
              -H, --header 'N: V'   one more header field for the request
                  --no-resume       start anew, and leave no parts behind
              -q, --quiet           print nothing but errors
              -v, --verbose         show requests, responses and delegate calls

            exit status: 0 complete, 1 failed, 2 usage, 22 HTTP status of 400 or above, 130 interrupted
            """
        case .demo:
            """
            usage: purl demo

            Starts a server on this machine, downloads 64 MiB from it, is cut off, resumes, is stopped,
            resumes, and checks the SHA-256 of what arrived. Uses no network.
            """
        }
    }
}
