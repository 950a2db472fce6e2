import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct LookupThreadsTests {
  @Test(arguments: [Duration.zero, .microseconds(50), .seconds(10)])
  func `threads answer every name, however soon they end`(patience: Duration) throws {
    let answered = Shared<[String]>([])
    let threads = LookupThreads(
      patience: patience, lookUp: { _ in .unknown },
      report: { name, _ in answered.with { $0.append(name) } })
    for index in 0..<500 {
      threads.begin("\(index)")
      try #require(answered.wait { $0.count > index ? true : nil } == true)
    }
    #expect(answered.with { $0 } == (0..<500).map(String.init))
    threads.close()
  }

  @Test func `a name is not left to a thread that is busy`() throws {
    let names = PlannedNames()
    let answered = Shared<Set<String>>([])
    let threads = LookupThreads(
      lookUp: { names.lookUp($0) }, report: { name, _ in answered.with { _ = $0.insert(name) } })
    names.plan("first", .unknown)
    threads.begin("first")
    try #require(answered.wait { $0.contains("first") ? true : nil } == true)
    for index in 0..<4 { threads.begin("\(index)") }
    #expect(names.waitForLookups(4))
    names.release()
    #expect(answered.wait { $0.count == 5 ? true : nil } == true)
    threads.close()
  }
}
