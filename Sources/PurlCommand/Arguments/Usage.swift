/// The help texts of the command line.
enum Usage: Equatable {
    case all
    case get
    case put
    case list
    case clean
    case ws
    case serve
    case demo
    case trace

    /// The version that `--version` prints.
    static let version = "1.0"

    /// The text, without a newline at its end.
    var text: String {
        switch self {
        case .all:
            """
            usage: purl get URL… [-o FILE] [-P N] [--sha256 HEX] [--input-file FILE] [--retry N] …
                   purl put FILE URL [--method METHOD] [--retry N] [-H 'NAME: VALUE']… …
                   purl list [FOLDER]…
                   purl clean [--all] [--dry-run] [FOLDER]…
                   purl ws URL [--protocol NAME]… [-H 'NAME: VALUE']…
                   purl serve SCRIPT [--port N] [--log FILE]
                   purl demo [--trace FILE]
                   purl trace FILE
                   purl help [COMMAND]
                   purl --version

            Downloads files over HTTP and resumes interrupted downloads. Uploads files, and resumes uploads too.
            Exchanges WebSocket messages.

              get    download URLs into files
              put    upload a file
              list   show unfinished downloads and uploads
              clean  remove unfinished downloads, and give unfinished uploads up
              ws     send lines as WebSocket messages, and print received messages
              serve  serve files as a script says, with faults, to test any client
              demo   show how a download is cut off and resumed, without a network
              trace  show what --trace has recorded
            """
        case .get:
            """
            usage: purl get URL… [-o FILE] [-P N] [--sha256 HEX | --check FILE] [--mirror URL]… [--retry N]
                        [--input-file FILE] [--limit-rate RATE] [--max-filesize BYTES] [-H 'NAME: VALUE']…
                        [--proxy URL | --no-proxy] [--no-resume | -N] [--compressed] [--trace FILE]
                        [-q | -v]

            Downloads each URL into a FILE. Until FILE is complete, its bytes are in FILE.part, and the
            record needed to resume is in FILE.resume. After an interruption the same command resumes. With
            several URLs it skips files that are complete, which it recognises by their FILE.resume; these
            records are removed when all files are complete.

              -o, --output FILE     save as FILE; replaces FILE when the download is complete. A FIFO, a device
                                    or /dev/stdout takes the bytes as they arrive, and is not resumed. Without
                                    -o the server's name is used, and no file is replaced.
              -P, --parallel N      download N files at once; the others wait in order (4)
                  --sha256 HEX      the file's SHA-256; a file with another one is removed
                  --check FILE      the SHA-256 of every file is in FILE, a list as sha256sum writes it, by
                                    the name under which the file is saved; “-” is standard input
                  --mirror URL      another URL of the same file, requested when the one before it has
                                    failed, with its retries; can be repeated. With --sha256 or --check it
                                    continues the bytes that have arrived; otherwise it starts over
                  --input-file FILE a list with a URL in each line; “-” is standard input. A URL may be
                                    followed by sha256=HEX, mirror=URL, and out=NAME, which means the same
                                    as -o. Empty lines and text after a # are skipped.
                  --retry N         retry when the connection is lost or the server is busy: N times in a
                                    row without progress, after 1, 2, 4 … 60 s, or after the delay that
                                    the server asks for (0)
                  --limit-rate RATE receive at most RATE bytes a second, all files together; the suffixes
                                    K, M and G mean 1024, 1024² and 1024³ (200K, 1.5M)
              -H, --header 'N: V'   add a header field to every request
                  --proxy URL       use this proxy: http://[USER:PASSWORD@]HOST[:PORT], or socks5:// of the
                                    same form. Without it the proxy in http_proxy or all_proxy is used,
                                    except for the hosts in no_proxy and this machine
                  --no-proxy        use no proxy
                  --no-resume       start over, and leave no partial files
              -N, --timestamping    download only what is newer than the FILE of an earlier -N, by its entity
                                    tag or its date, and replace FILE then. FILE gets the server's time,
                                    and FILE.resume stays beside it: it holds the tag. A newer version
                                    that was cut off is resumed; until then, the tag is in FILE.resume.old
                  --compressed      ask for gzip, and unpack it; what was compressed on the way cannot be
                                    resumed. Without it a file is saved as the server sends it
                  --max-filesize B  refuse a file of more than B bytes, at the latest when more arrive; with
                                    the suffixes of --limit-rate
                  --trace FILE      record what happens, and write it to FILE at the end: as a timeline
                                    (.txt), a sequence diagram (.svg), an HTTP Archive (.har), packets
                                    (.pcapng), or for purl trace (.json, .trace). Passwords and cookies
                                    are left out
              -q, --quiet           print errors only
              -v, --verbose         print requests, responses and delegate calls

            -o, --sha256 and --mirror need exactly one URL. A URL that is given twice is downloaded once.

            exit status: 0 all complete, 1 failed, 2 usage, 22 HTTP status of 400 or above, 130 interrupted;
            when files end differently, 130 takes precedence over 1, and 1 over 22
            """
        case .put:
            """
            usage: purl put FILE URL [-X METHOD] [--retry N] [--limit-rate RATE] [-H 'NAME: VALUE']…
                        [--proxy URL | --no-proxy] [--no-resume] [--trace FILE] [-q | -v]

            Uploads FILE to URL, and prints the body of the response. To a URL that ends with “/” the name
            of FILE is appended. From a server that takes uploads in parts (draft-ietf-httpbis-
            resumable-upload) the same command resumes after an interruption, with the -H that are given
            then; until FILE is complete, the record needed for that is in FILE.upload. It is for one URL
            and one METHOD: to another one purl refuses to upload, without --no-resume. A FILE that has
            changed is uploaded from its beginning; one that has only been moved, with its folder or with
            FILE.upload, is resumed.

              -X, --method METHOD   PUT, POST or PATCH (PUT)
                  --retry N         retry when the connection is lost or the server is busy: N times in a
                                    row without progress, after 1, 2, 4 … 60 s, or after the delay that
                                    the server asks for (0)
                  --limit-rate RATE send at most RATE bytes a second; the suffixes K, M and G mean 1024,
                                    1024² and 1024³ (200K, 1.5M)
              -H, --header 'N: V'   add a header field to every request
                  --proxy URL       use this proxy: http://[USER:PASSWORD@]HOST[:PORT], or socks5:// of the
                                    same form. Without it the proxy in http_proxy or all_proxy is used,
                                    except for the hosts in no_proxy and this machine
                  --no-proxy        use no proxy
                  --no-resume       start over, and keep no record; one of another URL or METHOD stays
                  --trace FILE      record what happens, as purl get does: --trace upload.svg
              -q, --quiet           print errors and the response's body only
              -v, --verbose         print requests, responses and delegate calls

            exit status: 0 complete, 1 failed, 2 usage, 22 HTTP status of 400 or above, 130 interrupted
            """
        case .list:
            """
            usage: purl list [FOLDER]…

            Shows the unfinished downloads in each FOLDER (default: the current folder): the name, the
            progress, the URL, and whether a transfer is writing it now. A .part file without a valid
            record is listed by its own name. Unfinished uploads follow: the name, the length, and the URL.

            exit status: 0 also when there are none, 1 a folder cannot be read, 2 usage
            """
        case .clean:
            """
            usage: purl clean [--all] [--dry-run] [FOLDER]…

            Removes the unfinished downloads in each FOLDER (default: the current folder): FILE.part and
            its FILE.resume. Files that a transfer is writing now are kept. Gives unfinished uploads up:
            asks the server to delete what it has of them, says what it answered, and removes FILE.upload,
            also where the server cannot be reached or refuses.

              --all       also remove a FILE.part without a record, which may be another program's
              --dry-run   print what would be removed, and remove nothing

            exit status: 0 removed, 1 a file was kept because it is being written, sent, or cannot be
            removed, 2 usage
            """
        case .ws:
            """
            usage: purl ws URL [--protocol NAME]… [-H 'NAME: VALUE']… [--max-size BYTES]
                        [--proxy URL | --no-proxy] [--trace FILE] [-q | -v]

            Opens a WebSocket connection to a ws: URL. Sends each line of standard input as a text message,
            and prints each received text message as a line; for a binary message it prints the length. At
            the end of the input the connection is closed when the server has answered a ping; Ctrl-C closes
            it at once.

                  --protocol NAME   a subprotocol that the server may choose; list the preferred one first
              -H, --header 'N: V'   add a header field to the handshake
                  --max-size BYTES  the longest message accepted, in bytes (1048576)
                  --proxy URL       use this proxy: http://[USER:PASSWORD@]HOST[:PORT], or socks5:// of the
                                    same form. Without it the proxy in http_proxy or all_proxy is used,
                                    except for the hosts in no_proxy and this machine
                  --no-proxy        use no proxy
                  --trace FILE      record what happens, as purl get does: --trace chat.svg
              -q, --quiet           do not print the server's close code
              -v, --verbose         print when the connection opens and closes

            exit status: 0 closed with 1000, 1001 or no code, 1 failed or closed with another code, 2 usage,
            22 the handshake's response had a status of 400 or above, 130 interrupted
            """
        case .serve:
            """
            usage: purl serve SCRIPT [--port N] [--log FILE]
                   purl serve --list
                   purl serve --show NAME

            Serves HTTP on 127.0.0.1 as SCRIPT says, until Ctrl-C: content, validators, ranges, and what goes
            wrong with which request. SCRIPT is a file, or the name of a ready script.

                  --port N     listen on port N instead of a free one
                  --log FILE   append the access log to FILE instead of printing it
                  --list       print the ready scripts
                  --show NAME  print a ready script, to begin one of your own

            A script has a line for each thing it sets. What follows a route is about that route:

              # a comment is a line of its own
              route /file
                generated 8M seed 1
                etag "v1"
                1: cut after 2M
                2-: ranges ignored

              content     generated SIZE [seed N], text TEXT, file PATH
              validators  etag TAG, modified DATE, conditions ignored, if-range ignored|refused
              ranges      ranges ignored|refused|multipart, range shifted|shortened SIZE, content-range …
              head        status N, field NAME: VALUE, set NAME: VALUE, remove NAME, redirect URL
              delivery    rate SIZE, length +SIZE, chunked, until-close
              faults      cut, reset, stall, pause 2s; each with where: after SIZE, before head, in head,
                          in middle, before end, at random
              uploads     uploads [VERSION]…, upload-limit NAME SIZE, upload-fault cut at SIZE …

            Before a “:” stands which requests a line is for: 1, 2-4, 3-, every 2, chance 30%; “ranged” or
            “plain” before it counts only those with a Range, or without. The page “Server scripts” of
            PurlTesting's documentation has the whole grammar.

            The log has a JSON object in each line: the first names the URLs, each other one is a request with
            its fields, the response's status and fields, the bytes of body sent, and how the response ended.

            exit status: 0 ended by Ctrl-C, 1 the script is wrong or the port is taken, 2 usage
            """
        case .demo:
            """
            usage: purl demo [--trace FILE]

            Starts a server on this machine, downloads 64 MiB from it, is cut off, resumes, is paused,
            resumes, and compares the file's SHA-256 with the server's. Uses no network.

              --trace FILE   record what happens, as purl get does: --trace film.svg
            """
        case .trace:
            """
            usage: purl trace FILE [--fields] [-o FILE]

            Shows a FILE that --trace has saved as .json or .trace: a timeline of what the program, its
            delegate, the network thread and the file worker have done.

                  --fields        also print the fields of requests and responses
              -o, --output FILE   write it in another form instead, by the extension: .txt, .svg, .har or
                                  .pcapng

            exit status: 0 shown or written, 1 FILE cannot be read or is no trace, 2 usage
            """
        }
    }
}
