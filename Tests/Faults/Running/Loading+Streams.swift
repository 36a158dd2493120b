internal import Foundation
internal import Purl

extension Loading {
    /// Asks for the resource over a stream, and hears all of it.
    func talk(over task: URLSessionStreamTask) {
        switch kind {
        case .captured:
            write(over: task)
            task.captureStreams()
        case .streamAsync:
            observer.sight.update { $0.waiting += 1 }
            Task {
                do {
                    try await task.write(Data(Stage.question.utf8), timeout: 0)
                    task.closeWrite()
                    while true {
                        let (bytes, isLast) = try await task.readData(ofMinLength: 1, maxLength: 10_000, timeout: 0)
                        observer.sight.update { if let bytes { $0.body.append(bytes) } }
                        if isLast { break }
                    }
                    observer.sight.update { $0.waiting -= 1 }
                } catch {
                    observer.sight.update { sight in
                        sight.waiting -= 1
                        sight.readError = error
                    }
                }
            }
        default:
            write(over: task)
            task.closeWrite()
            readOn(over: task)
        }
    }

    private func write(over task: URLSessionStreamTask) {
        observer.sight.update { $0.waiting += 1 }
        task.write(Data(Stage.question.utf8), timeout: 0) { [observer] _ in
            observer.note(.didWrite, task) { $0.waiting -= 1 }
        }
    }

    private func readOn(over task: URLSessionStreamTask) {
        observer.sight.update { $0.waiting += 1 }
        task.readData(ofMinLength: 1, maxLength: 10_000, timeout: 0) { [self] bytes, isLast, error in
            if !isLast, error == nil { readOn(over: task) }
            observer.note(.didRead, task) { sight in
                sight.waiting -= 1
                if let bytes { sight.body.append(bytes) }
                sight.readError = error
            }
        }
    }
}
