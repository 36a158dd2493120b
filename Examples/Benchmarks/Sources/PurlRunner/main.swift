import Foundation
import Measuring

#if PURL
    import Purl
#else
    import FoundationNetworking
#endif

switch Workload.fromArguments() {
case .small(let url, let count, let concurrency):
    SmallRequests(url, count, concurrency).run()
case .download(let url, let path):
    FileTransfer(url, path).download()
case .upload(let url, let path):
    FileTransfer(url, path).upload()
case .pieces(let url, let pause):
    Pieces(url, pause).run()
case .waiting(let url, let count):
    Waiting(url, count).run()
}
