internal import Foundation
internal import Purl
internal import PurlTesting

/// What can be wrong with the files that bytes come from and go to.
extension Fault {
    static let disks: [Fault] =
        [
            disk("where nothing can be made", .open(EACCES), .cannotCreateFile).with { $0.hidesPartialFile = true },
            disk("that may only be read", .open(EROFS), .cannotCreateFile).with { $0.hidesPartialFile = true },
            disk("where every descriptor is taken", .open(EMFILE), .cannotCreateFile)
                .expecting { .failure($0.isResumed ? .cannotOpenFile : .cannotCreateFile) },
            disk("that is full", .write(ENOSPC, after: 0), .cannotWriteToFile),
            disk("that is full in the middle", .write(ENOSPC, after: 15_000), .cannotWriteToFile),
            disk("that fails in the middle", .write(EIO, after: 15_000), .cannotWriteToFile),
            disk("whose owner may have no more", .write(EDQUOT, after: 15_000), .cannotWriteToFile),
        ]
        + [
            Fault("disk", "a folder below a file", .failure(.cannotCreateFile)) { stage in
                stage.answer(stage.resource)
                try Data().write(to: stage.folder.appendingPathComponent("plain"))
            }.configured { configuration, stage in
                configuration.partialDownloadsDirectory = stage.folder.appendingPathComponent("plain/partials")
            }.only { $0.writesPartialFile && !$0.isResumed && !$0.isBackground },
            // A file that is not yet there is made in a new folder.
            Fault("disk", "a folder that is removed in the middle", .either(.cannotOpenFile, or: .cannotCreateFile)) {
                stage in
                stage.answer(stage.resource.stalled(at: .midBody, until: stage.gate))
            }.with {
                $0.meanwhile = { stage in
                    Task {
                        await stage.gate.reached()
                        stage.removePartials()
                        stage.gate.open()
                    }
                }
            }.only { $0.writesPartialFile },
            Fault("disk", "a folder where a file should be", .failure(.cannotOpenFile)) { stage in
                stage.answer(stage.resource)
                try FileManager.default.createDirectory(at: stage.sinkFile, withIntermediateDirectories: true)
            }.only { $0 == .dataToFile },
        ]

    private static func disk(_ name: String, _ failure: FaultyFiles.Failure, _ code: URLError.Code) -> Fault {
        Fault("disk", name, .failure(code)) { stage in
            stage.answer(stage.resource)
            stage.files.fail(failure)
        }.only { $0.writesPartialFile }
    }

    /// Sinks of a user's own, whose errors are reported as they are.
    static let sinks: [Fault] = ThrowingSink.Call.allCases.map { call in
        Fault("sink", "that throws at \(call.rawValue)", .failure(.cannotWriteToFile))
            .with { $0.sink = { _ in ThrowingSink(at: call) } }
            .expecting { _ in .failure(call == .length || call == .loadRecord ? .cannotOpenFile : .cannotWriteToFile) }
            .only { $0 == .dataToFile }
    }

    /// Descriptors are the whole process's, so nothing else may run meanwhile.
    static let descriptors: [Fault] = [
        Fault("descriptors", "none for a connection", .failure(.cannotConnectToHost))
            .with {
                // An upload's file is one of them; connections leave more than the rest to others.
                $0.meanwhile = { stage in stage.exhaust(leaving: 8) }
                // A connection in memory takes none.
                $0.needsSockets = true
            },
        Fault("descriptors", "none for the answer", .success()) { stage in
            stage.answer(stage.resource.stalled(at: .beforeHead, until: stage.gate))
        }.with {
            $0.script = { $0.script(waitingAfter: 0) }
            $0.sink = { FileHandleSink(fileAt: $0.sinkFile, recordAt: nil, completion: .safe, through: $0.files) }
            $0.meanwhile = { stage in
                Task {
                    await stage.gate.reached()
                    // A pipe takes two. A file would take the last one.
                    stage.exhaust(leaving: 1)
                    stage.files.fail(.open(EMFILE))
                    stage.gate.open()
                }
            }
        }.expecting { kind in
            if kind == .dataToFile { return .failure(.cannotOpenFile) }
            return kind.writesPartialFile ? .failure(.cannotCreateFile) : .success()
        },
    ].map { fault in
        // Resumed ones have their file open, or fail as on a disk where every descriptor is taken.
        fault.with { $0.isProcessWide = true }.only { !$0.isResumed }.withStreams()
    }

    static let uploads: [Fault] = [
        Fault("upload", "of a file that is gone", .failure(.fileDoesNotExist)) { stage in
            stage.answer(stage.resource)
            try FileManager.default.removeItem(at: stage.uploadFile)
        }.only(\.isFileUpload),
        Fault("upload", "of a folder", .failure(.fileIsDirectory)) { stage in
            stage.answer(stage.resource)
            try FileManager.default.removeItem(at: stage.uploadFile)
            try FileManager.default.createDirectory(at: stage.uploadFile, withIntermediateDirectories: true)
        }.only(\.isFileUpload),
        Fault(
            "upload", "answered before its body", .text("too much").status(413).beforeBody(),
            .text("too much", status: 413)
        )
        .only(\.isUpload),
        Fault("upload", "of which nothing is taken", .failure(.timedOut)) { stage in
            stage.answer(stage.resource.takingBody(after: stage.gate))
        }.timed.only(\.isUpload),
        Fault("upload", "whose server asks and does not invite", .success()) { stage in
            stage.answer(stage.resource.ignoringExpectation())
        }.with { $0.changeRequest = { $0.setValue("100-continue", forHTTPHeaderField: "Expect") } }
            .only { $0.isUpload && !$0.isBackground },
        Fault("upload", "refused where it was asked about", .text("no").status(417), .text("no", status: 417))
            .with { $0.changeRequest = { $0.setValue("100-continue", forHTTPHeaderField: "Expect") } }
            .only { $0.isUpload && !$0.isBackground },
    ]
}
