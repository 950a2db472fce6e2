import ImgdSystem

/// Time of a decoder, as it is used or expected.
struct DecodeTime: Comparable {
  /// Orders that are expected to take no longer are let through where slow ones wait: those who come next wait
  /// for no more than that.
  static let quick = DecodeTime(.milliseconds(250))

  private let time: Duration

  init(_ time: Duration) { self.time = time }

  var isQuick: Bool { self <= .quick }

  /// Nothing is free of charge, or one could take all turns.
  static let leastCharge: Int64 = 1_000

  /// In nanoseconds.
  var charge: Int64 { max(Self.leastCharge, time.nanoseconds) }

  static func < (left: DecodeTime, right: DecodeTime) -> Bool { left.time < right.time }
}
