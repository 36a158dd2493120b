import Foundation
import Measuring

#if PURL
    import Purl
#else
    import FoundationNetworking
#endif

#if PURL
    if let text = Text(Array(CommandLine.arguments.dropFirst())) { text.run() }
#endif

switch Workload.fromArguments() {
case .small(let url, let count, let concurrency):
    SmallRequests(url, count, concurrency).run()
case .awaited(let url, let count, let concurrency):
    try await AwaitedRequests(url, count, concurrency).run()
case .download(let url, let path):
    FileTransfer(url, path).download()
case .upload(let url, let path):
    FileTransfer(url, path).upload()
case .pieces(let url, let pause):
    Pieces(url, pause).run()
case .waiting(let url, let count):
    Waiting(url, count).run()
case .echo(let url, let size, let count, let inFlight):
    #if PURL
        try await Echo(url, size: size, count: count, inFlight: inFlight).run()
    #endif
}
