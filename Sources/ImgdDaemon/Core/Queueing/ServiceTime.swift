import ImgdSystem

/// The time that a service takes, or is expected to take.
struct ServiceTime: Comparable {
  /// What is expected to take no longer than this is let through where slow things wait: those who come next wait no
  /// longer than that.
  static let quick = ServiceTime(.milliseconds(250))

  private let time: Duration

  init(_ time: Duration) { self.time = time }

  var isQuick: Bool { self <= .quick }

  /// The charge in nanoseconds. Nothing is free of charge, or one claimant could take all turns.
  var charge: Int64 { max(1_000, time.nanoseconds) }

  static func < (left: ServiceTime, right: ServiceTime) -> Bool { left.time < right.time }
}
