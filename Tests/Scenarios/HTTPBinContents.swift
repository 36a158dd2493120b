import Foundation

enum HTTPBinContents {
    static let all = [
        HTTPBinChecks.Check("/gzip is decoded") { bin in
            let answer = try await bin.get("/gzip")
            try expect("gzipped", answer.told("gzipped"), "1")
            try expect("coding", answer.field("Content-Encoding"), "gzip")
        },
        HTTPBinChecks.Check("/deflate is decoded") { bin in
            try expect("deflated", try await bin.get("/deflate").told("deflated"), "1")
        },
        HTTPBinChecks.Check("brotli is not asked for") { bin in
            let offered = try await bin.get("/headers").told("headers", "Accept-Encoding")
            try expect("something is offered", offered != nil)
            try expect("no brotli is offered", offered?.contains("br") == false)
        },
        HTTPBinChecks.Check("/encoding/utf8 arrives unharmed") { bin in
            let answer = try await bin.get("/encoding/utf8")
            try expect("encoding", answer.response.textEncodingName, "utf-8")
            try expect("the text has its letters", answer.text.contains("∮ E⋅da = Q"))
        },
        HTTPBinChecks.Check("/stream/20 is 20 lines of JSON, chunked") { bin in
            let answer = try await bin.get("/stream/20")
            let lines = answer.text.split(separator: "\n")
            try expect("lines", lines.count, 20)
            try expect("length", answer.response.expectedContentLength, -1)
        },
        HTTPBinChecks.Check("/stream-bytes/100000 arrives whole, the same for the same seed") { bin in
            let one = try await bin.get("/stream-bytes/100000?seed=1&chunk_size=777")
            let other = try await bin.get("/stream-bytes/100000?seed=1&chunk_size=10000")
            try expect("bytes", one.body.count, 100_000)
            try expect("they are the same", one.body == other.body)
        },
        HTTPBinChecks.Check("/bytes/50000 arrives whole") { bin in
            let answer = try await bin.get("/bytes/50000?seed=2")
            try expect("bytes", answer.body.count, 50_000)
            try expect("length", answer.response.expectedContentLength, 50_000)
        },
        HTTPBinChecks.Check("/response-headers, one of them twice") { bin in
            let answer = try await bin.get("/response-headers?X-One=1&X-Two=a&X-Two=b")
            try expect("X-One", answer.field("x-one"), "1")
            try expect("X-Two", answer.field("X-TWO"), "a, b")
        },
        HTTPBinChecks.Check("/status, every kind") { bin in
            for status in [200, 201, 204, 205, 206, 300, 304, 400, 404, 406, 418, 429, 500, 503] {
                try expect("status", try await bin.get("/status/\(status)").status, status)
            }
        },
        HTTPBinChecks.Check("/range with a Range of one's own") { bin in
            let answer = try await bin.get("/range/1000", fields: ["Range": "bytes=10-19"])
            try expect("status", answer.status, 206)
            try expect("body", answer.text, "klmnopqrst")
        },
        HTTPBinChecks.Check("/user-agent and /headers tell what was sent") { bin in
            let answer = try await bin.get("/user-agent", fields: ["User-Agent": "mine/1"])
            try expect("agent", answer.told("user-agent"), "mine/1")
            let told = try await bin.get("/headers", fields: ["X-Own": "grüße"]).told("headers", "X-Own")
            try expect("there is a field", told != nil)
        },
        HTTPBinChecks.Check("/image/png, /html, /json and /xml have their types") { bin in
            for (path, type) in [
                ("/image/png", "image/png"), ("/html", "text/html"), ("/json", "application/json"),
                ("/xml", "application/xml"),
            ] {
                try expect(path, try await bin.get(path).response.mimeType, type)
            }
        },
        HTTPBinChecks.Check("/base64 decodes, and /uuid differs") { bin in
            try expect("text", try await bin.get("/base64/aGVsbG8=").text, "hello")
            let one = try await bin.get("/uuid").text
            try expect("they differ", try await bin.get("/uuid").text != one)
        },
    ]
}
