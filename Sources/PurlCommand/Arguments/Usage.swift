/// The texts that explain the command line.
enum Usage: Equatable {
    case all
    case get
    case list
    case clean
    case ws
    case demo

    /// What `--version` prints.
    static let version = "1.0"

    /// The text, without a newline at its end.
    var text: String {
        switch self {
        case .all:
            """
            usage: purl get URL… [-o FILE] [-P N] [--sha256 HEX] [--input-file FILE] [--retry N] …
                   purl list [FOLDER]…
                   purl clean [--all] [--dry-run] [FOLDER]…
                   purl ws URL [--protocol NAME]… [-H 'NAME: VALUE']…
                   purl demo
                   purl help [COMMAND]
                   purl --version

            Downloads files over HTTP, and goes on where an earlier attempt stopped. Talks to WebSockets.

              get    download URLs into files
              list   show the downloads that are unfinished
              clean  remove them
              ws     send lines as WebSocket messages, and print those that come
              demo   watch a download being cut off and resumed, without a network
            """
        case .get:
            """
            usage: purl get URL… [-o FILE] [-P N] [--sha256 HEX] [--input-file FILE] [--retry N]
                        [--limit-rate RATE] [-H 'NAME: VALUE']… [--proxy URL | --no-proxy] [--no-resume]
                        [-q | -v]

            Downloads each URL into a FILE. Until FILE is complete its bytes are in FILE.part, and what it
            takes to go on is in FILE.resume. After an interruption the same command goes on from there. Of
            several files it leaves those alone that are complete, which it knows by their FILE.resume;
            these go when all files are complete.

              -o, --output FILE     where to save; replaces FILE when the download is complete.
                                    Without it the server's name is used, and nothing is replaced.
              -P, --parallel N      load N files at once; the rest wait in order (4)
                  --sha256 HEX      what the file must be; if it is not, it is removed
                  --input-file FILE a list with a URL in each line; “-” is standard input. Behind the URL
                                    may stand sha256=HEX and out=NAME, which is as -o. Empty lines are
                                    skipped, and so is what follows a #.
                  --retry N         try again when the connection is lost, or the server is busy: N times
                                    in a row without getting further, after 1, 2, 4 … 60 s, or as long as
                                    the server asks (0)
                  --limit-rate RATE load no more than RATE bytes a second, all files together; K, M and G
                                    behind the number are 1024, 1024² and 1024³ (200K, 1.5M)
              -H, --header 'N: V'   one more header field for every request
                  --proxy URL       load everything through this proxy: http://[USER:PASSWORD@]HOST[:PORT].
                                    Without it the proxy that http_proxy or all_proxy names is used,
                                    except for the hosts in no_proxy
                  --no-proxy        use none
                  --no-resume       start anew, and leave no parts behind
              -q, --quiet           print nothing but errors
              -v, --verbose         show requests, responses and delegate calls

            -o and --sha256 go with one URL. The same URL twice is loaded once.

            exit status: 0 all complete, 1 failed, 2 usage, 22 HTTP status of 400 or above, 130 interrupted;
            when files end differently 130 goes before 1, and 1 before 22
            """
        case .list:
            """
            usage: purl list [FOLDER]…

            Shows the unfinished downloads in each FOLDER (without one: the current): the name, how far it
            came, the URL, and whether somebody is writing it right now. Bytes in a .part that has no
            record to vouch for them are shown as such.

            exit status: 0 also when there are none, 1 a folder cannot be read, 2 usage
            """
        case .clean:
            """
            usage: purl clean [--all] [--dry-run] [FOLDER]…

            Removes the unfinished downloads in each FOLDER (without one: the current): FILE.part with its
            FILE.resume. What somebody is writing right now is left alone.

              --all       also removes a FILE.part without a record, which may be another program's
              --dry-run   only says what would be removed

            exit status: 0 removed, 1 something was left because it is being written or cannot be removed,
            2 usage
            """
        case .ws:
            """
            usage: purl ws URL [--protocol NAME]… [-H 'NAME: VALUE']… [--max-size BYTES]
                        [--proxy URL | --no-proxy] [-q | -v]

            Opens a WebSocket connection to a ws: URL. Each line of standard input is sent as a text message,
            and each message that comes is printed as a line; of one that is not text, its length. The end of
            the input closes the connection when the server has had its turn, and so does Ctrl-C.

                  --protocol NAME   a subprotocol that the server may choose; the best comes first
              -H, --header 'N: V'   one more header field for the handshake
                  --max-size BYTES  the most bytes a message may have (1048576)
                  --proxy URL       go through this proxy: http://[USER:PASSWORD@]HOST[:PORT]. Without it
                                    the proxy that http_proxy or all_proxy names is used, except for the
                                    hosts in no_proxy
                  --no-proxy        use none
              -q, --quiet           say nothing of how the server closed
              -v, --verbose         also say when the connection opens and closes

            exit status: 0 closed with 1000, 1001 or no code, 1 failed or closed with another code, 2 usage,
            22 the handshake was answered with a status of 400 or above, 130 interrupted
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
