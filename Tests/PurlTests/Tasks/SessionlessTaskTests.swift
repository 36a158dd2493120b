import Foundation
import Purl
import Testing

/// A task that no session has made loads nothing: whatever is asked of it has an answer, and nothing happens.
@Suite struct SessionlessTaskTests {
    @Test func itStaysAsItIs() {
        let task = URLSessionTask()
        task.suspend()
        task.resume()
        #expect(task.state == .suspended)
        task.cancel()
        #expect(task.state == .suspended)
        #expect(task.error == nil)
        #expect(task.response == nil)
        #expect(task.originalRequest == nil)
        #expect(task.currentRequest == nil)
        #expect(task.countOfBytesReceived == 0)
        #expect(task.copy() as? URLSessionTask === task)
        #expect(task.progress.isIndeterminate)
    }

    @Test func itKeepsWhatItsUserSets() {
        let task = URLSessionTask()
        task.taskDescription = "nothing"
        task.priority = 2
        task.earliestBeginDate = .distantFuture
        #expect(task.taskDescription == "nothing")
        #expect(task.priority == 1)
        #expect(task.earliestBeginDate == .distantFuture)
    }

    @Test func aDownloadHasNothingToGoOnWith() async {
        #expect(await URLSessionDownloadTask().cancelByProducingResumeData() == nil)
    }
}
