import Foundation

/// Answers that take their time, and downloads that go on.
enum HTTPBinTimes {
    static let all = [
        HTTPBinChecks.Check("/drip arrives drop by drop, and whole") { bin in
            let answer = try await bin.get("/drip?numbytes=10&duration=1&delay=0")
            try expect("body", answer.text, "**********")
        },
        HTTPBinChecks.Check("/delay/1 is waited for") { bin in
            try expect("status", try await bin.get("/delay/1").status, 200)
        },
        HTTPBinChecks.Check("/delay/5 is longer than a second's time-out") { bin in
            try await expectFailure(.timedOut) {
                var request = try bin.request("/delay/5")
                request.timeoutInterval = 1
                _ = try await bin.load(request)
            }
        },
        HTTPBinChecks.Check("/drip does not outlive the limit for the whole resource") { bin in
            let other = bin.changed { $0.timeoutIntervalForResource = 1 }
            try await expectFailure(.timedOut) {
                _ = try await other.get("/drip?numbytes=10&duration=5&delay=0")
            }
        },
        HTTPBinChecks.Check("/range piece by piece is the whole") { bin in
            var pieces = ""
            for range in ["bytes=0-9999", "bytes=10000-19999", "bytes=20000-"] {
                let answer = try await bin.get("/range/30000", fields: ["Range": range])
                try expect("status", answer.status, 206)
                pieces += answer.text
            }
            try expect("it is the same", try await bin.get("/range/30000").text == pieces)
        },
        HTTPBinChecks.Check("/range, cancelled: without quotes its ETag is none, and nothing to go on from") { bin in
            let (kept, keep) = AsyncStream<Data?>.makeStream()
            let recorder = Recorder(onData: { task in
                (task as? URLSessionDownloadTask)?.cancel { keep.yield($0) }
            })
            let slow = HTTPBin(url: bin.url, delegate: recorder)
            slow.session.downloadTask(with: try bin.request("/range/30000?duration=2&chunk_size=1000")).resume()
            await recorder.completion()
            var results = kept.makeAsyncIterator()
            try expect("there is no resume data", await results.next() ?? nil == nil)
            try expect("last call", recorder.calls.last, "completed -999")
        },
    ]
}
