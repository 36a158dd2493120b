extension ServerScript {
    /// A script that comes with the library.
    public struct Ready: Sendable, Hashable {
        /// The name by which `purl serve` takes it.
        public let name: String
        /// The script as text: a beginning for one of your own.
        public let text: String
    }

    /// The scripts that come with the library, each for something that servers and networks do to downloads.
    public static let ready: [Ready] = [
        Ready(
            name: "plain",
            text: """
                title A file that can be resumed

                route /file
                  generated 8M seed 1
                  etag "v1"
                """),
        Ready(
            name: "cut",
            text: """
                title The first two responses are cut off

                route /file
                  generated 8M seed 1
                  etag "v1"
                  1-2: cut after 2M
                """),
        Ready(
            name: "flaky",
            text: """
                title Any response may be cut off, anywhere

                seed 7
                route /file
                  generated 8M seed 1
                  etag "v1"
                  chance 60%: cut at random
                """),
        Ready(
            name: "changed",
            text: """
                title The file is replaced after the first response, which is cut off

                route /file
                  generated 8M seed 1
                  etag "v1"
                  1: cut after 2M
                  2-: generated 9M seed 2
                  2-: etag "v2"
                """),
        Ready(
            name: "no-ranges",
            text: """
                title Ranges are ignored, and the first response is cut off

                route /file
                  generated 8M seed 1
                  etag "v1"
                  ranges ignored
                  accept-ranges missing
                  1: cut after 2M
                """),
        Ready(
            name: "busy",
            text: """
                title Every second request gets a 503

                route /file
                  generated 8M seed 1
                  etag "v1"
                  every 2: text Try again.\\n
                  every 2: status 503
                  every 2: field Retry-After: 1
                """),
        Ready(
            name: "expiring",
            text: """
                title A link leads to a signed URL that works once

                route /file
                  1: redirect /signed/1
                  2: redirect /signed/2
                  3-: redirect /signed/3

                route /signed/1
                  generated 8M seed 1
                  etag "v1"
                  1: cut after 2M
                  2-: status 403

                route /signed/2
                  generated 8M seed 1
                  etag "v1"
                  1: cut after 2M
                  2-: status 403

                route /signed/3
                  generated 8M seed 1
                  etag "v1"
                """),
        Ready(
            name: "slow",
            text: """
                title 256 KiB a second, and a pause of three seconds in the middle

                route /file
                  generated 8M seed 1
                  etag "v1"
                  rate 256K
                  pause 3s in middle
                """),
        Ready(
            name: "unknown-length",
            text: """
                title Chunks, without a length; the first response is cut off in the middle

                route /file
                  generated 8M seed 1
                  etag "v1"
                  chunked 16K
                  1: cut in middle
                """),
        Ready(
            name: "uploads",
            text: """
                title Uploads that resume; connections are lost at 1 and at 3 MiB, and one response

                route /file
                  uploads
                  upload-fault cut at 1M
                  upload-fault cut at 3M
                  upload-fault cut before response
                """),
        Ready(
            name: "websocket",
            text: """
                title WebSockets: an echo, a server that speaks first, and one that is cut off

                route /echo
                  websocket echo
                  websocket compressed

                route /greeting
                  websocket text Who is there?
                  websocket receive 1
                  websocket close 1000 bye

                route /cut
                  websocket text This is the only message.
                  websocket cut
                """),
    ]
}
