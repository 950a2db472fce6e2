internal import ImgdSystem

/// The server's clock, which all hosts of a fleet share, as this machine estimates it.
///
/// Times are milliseconds since 1970.
struct ServerClock {
  /// The years until 2255: sums of such numbers do not overflow.
  static let times: ClosedRange<Int64> = 0...(9_000_000_000_000)

  private var told: Int64 = 0
  private var at = Instant(nanoseconds: 0)

  /// Takes the answer to `TIME`; false for anything else.
  mutating func set(_ reply: RedisReply, at now: Instant) -> Bool {
    guard let parts = reply.list, parts.count == 2, let seconds = Self.number(parts[0]),
      let micros = Self.number(parts[1]), Self.times ~= seconds &* 1000, micros < 1_000_000
    else { return false }
    told = seconds * 1000 + micros / 1000
    at = now
    return true
  }

  /// The time by the server's clock.
  func time(at now: Instant) -> Int64 {
    min(max(told + (now - at).milliseconds, Self.times.lowerBound), Self.times.upperBound)
  }

  /// How long ago a time was; never negative.
  func age(of time: Int64, at now: Instant) -> Duration { .milliseconds(max(self.time(at: now) - time, 0)) }

  private static func number(_ reply: RedisReply) -> Int64? {
    guard let number = reply.text.flatMap({ Int64($0) }), times ~= number else { return nil }
    return number
  }
}
