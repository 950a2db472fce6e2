/// A life of the server's data, as the number that marks and positions carry: the second in which it began, by the server's
/// clock, and a random number behind it. So a life that comes back, with a copy of the data that is put in their place,
/// shows by being older than the one that a host has known.
enum DataLife {
  /// A new one, which is later than another in any case: clocks may be wrong.
  static func begun(at milliseconds: Int64, after other: UInt64 = 0) -> UInt64 {
    let second = max(UInt64(clamping: milliseconds / 1_000), second(of: other) + 1)
    return min(second, UInt64(UInt32.max)) << 32 | UInt64(UInt32.random(in: 1 ... .max))
  }

  static func isEarlier(_ one: UInt64, than other: UInt64) -> Bool { second(of: one) < second(of: other) }

  private static func second(of life: UInt64) -> UInt64 { life >> 32 }
}
