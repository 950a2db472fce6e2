import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

struct LookupThreadTests {
  @Test(arguments: [Duration.zero, .microseconds(50), .seconds(10)])
  func `threads answer every name, however soon they end`(patience: Duration) throws {
    let answered = Shared<[String]>([])
    let threads = WorkThreads(
      name: "names", patience: patience, carryOut: { (_: String) in NameAnswer.unknown },
      report: { name, _ in answered.with { $0.append(name) } })
    for index in 0..<500 {
      try threads.begin("\(index)")
      try #require(answered.wait { $0.count > index ? true : nil } == true)
    }
    #expect(answered.with { $0 } == (0..<500).map(String.init))
    threads.close()
  }

  @Test func `a name is not left to a thread that is busy`() throws {
    let names = PlannedNames()
    let answered = Shared<Set<String>>([])
    let threads = WorkThreads(
      name: "names", carryOut: { names.lookUp($0) }, report: { name, _ in answered.with { _ = $0.insert(name) } })
    names.plan("first", .unknown)
    try threads.begin("first")
    try #require(answered.wait { $0.contains("first") ? true : nil } == true)
    for index in 0..<4 { try threads.begin("\(index)") }
    #expect(names.waitForLookups(4))
    names.release()
    #expect(answered.wait { $0.count == 5 ? true : nil } == true)
    threads.close()
  }
}
