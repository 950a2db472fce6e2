import ImgdSystem
import Testing

@testable import ImgdProgram

struct LogLimitTests {
  private let start = Instant(nanoseconds: 1 << 40)

  private func fill(_ limit: inout LogLimit, _ subject: Log.Subject) {
    for _ in 0..<LogLimit.most {
      #expect(limit.admit(subject, at: start) == .admitted(leftOut: 0))
    }
  }

  @Test func `a limited number of entries is admitted`() {
    var limit = LogLimit()
    fill(&limit, .purge)
    #expect(limit.admit(.purge, at: start) == .refused)
    #expect(limit.admit(.purge, at: start + .seconds(29)) == .refused)
  }

  @Test func `the first entry of the next span tells once how many were left out`() {
    var limit = LogLimit()
    fill(&limit, .purge)
    for _ in 0..<7 { #expect(limit.admit(.purge, at: start) == .refused) }
    let later = start + LogLimit.span
    #expect(limit.admit(.purge, at: later) == .admitted(leftOut: 7))
    for _ in 1..<LogLimit.most {
      #expect(limit.admit(.purge, at: later) == .admitted(leftOut: 0))
    }
    #expect(limit.admit(.purge, at: later) == .refused)
  }

  @Test func `a few entries are never refused`() {
    var limit = LogLimit()
    for second in 0..<1_000 {
      #expect(limit.admit(.disk, at: start + .seconds(2 * second)) == .admitted(leftOut: 0))
    }
  }

  @Test func `each subject has a limit of its own`() {
    var limit = LogLimit()
    fill(&limit, .purge)
    #expect(limit.admit(.purge, at: start) == .refused)
    #expect(limit.admit(.disk, at: start) == .admitted(leftOut: 0))
  }

  @Test func `a start logs everything`() {
    var limit = LogLimit()
    for _ in 0..<1_000 { #expect(limit.admit(.start, at: start) == .admitted(leftOut: 0)) }
  }
}
