import Testing

@testable import ImgdTransfer

struct RetryPolicyTests {
  private func transient(_ kind: TransferFailure.Kind = .connect) -> TransferFailure {
    var failure = TransferFailure(kind, "")
    failure.isTransient = true
    return failure
  }

  @Test func `attempts after a failure wait twice as long each time, up to five seconds in all`() {
    var policy = RetryPolicy(most: 100)
    let pauses = (0..<7).map { _ in
      policy.pause(after: transient(), rest: .seconds(1_000), jitter: 1)
    }
    let expected: [Duration?] = [100, 200, 400, 800, 1_600].map { .milliseconds($0) }
    #expect(pauses == expected + [nil, nil])
    #expect(policy.made == 5)
  }

  @Test func `the pause between attempts varies by half`() throws {
    for _ in 0..<100 {
      var policy = RetryPolicy(most: 1)
      let drawn = policy.pause(after: transient(), rest: .seconds(1))
      let pause = try #require(drawn)
      #expect((.milliseconds(50)...Duration.milliseconds(150)).contains(pause))
    }
  }

  @Test func `attempts after a failure end at their limit`() {
    var policy = RetryPolicy(most: 2)
    let pauses = (0..<3).map { _ in policy.pause(after: transient(), rest: .seconds(9)) != nil }
    #expect(pauses == [true, true, false])
  }

  @Test func `attempts do not follow a permanent failure`() {
    var policy = RetryPolicy(most: 2)
    let pause = policy.pause(after: TransferFailure(.tls, ""), rest: .seconds(9))
    #expect(pause == nil)
  }

  @Test func `attempts after a failure do not begin after the deadline`() {
    var policy = RetryPolicy(most: 2)
    let pause = policy.pause(after: transient(), rest: .milliseconds(100), jitter: 1)
    #expect(pause == nil)
    #expect(policy.made == 0)
  }

  @Test func `attempts follow a Retry-After of a second that ends before the deadline`() {
    var failure = transient(.httpStatus)
    failure.retryAfter = .seconds(1)
    var policy = RetryPolicy(most: 2)
    let late = policy.pause(after: failure, rest: .seconds(1))
    #expect(late == nil)
    let early = policy.pause(after: failure, rest: .seconds(4))
    #expect(early == .seconds(1))
    failure.retryAfter = .seconds(2)
    let long = policy.pause(after: failure, rest: .seconds(100))
    #expect(long == nil)
  }

  @Test func `attempts after a failure fetch a broken body from its start once`() {
    var policy = RetryPolicy(most: 5)
    let first = policy.pause(after: transient(.truncated), rest: .seconds(9))
    #expect(first != nil)
    let second = policy.pause(after: transient(.truncated), rest: .seconds(9))
    #expect(second == nil)
  }

  @Test func `attempts continue a broken body as long as it grows`() {
    var policy = RetryPolicy(most: 5)
    let pauses = [true, true, false, true, false].map { gained in
      policy.pause(after: transient(.truncated), rest: .seconds(99), gained: gained) != nil
    }
    #expect(pauses == [true, true, true, true, false])
    var silent = RetryPolicy(most: 1)
    let idle = TransferFailure(.timeout(.body), "")
    let none = silent.pause(after: idle, rest: .seconds(9))
    #expect(none == nil)
    let first = silent.pause(after: idle, rest: .seconds(9), gained: true)
    #expect(first != nil)
    let second = silent.pause(after: idle, rest: .seconds(9), gained: true)
    #expect(second == nil)
  }
}
