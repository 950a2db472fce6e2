import ImgdCache

/// Pictures over which decoders took far longer than their sizes suggest: other forms of them no longer count as quick.
struct SlowPictures {
  /// How many are remembered; beyond that the oldest is forgotten.
  private static let most = 1_024
  /// A busy machine makes every order take longer: only what is out of all proportion counts.
  private static let factor: Int64 = 4
  private static let least = ServiceTime(.seconds(1))

  private var times: [BodyChecksum: ServiceTime] = [:]
  private var order: [BodyChecksum] = []
  private var next = 0

  /// The least time that an order for the picture takes, as far as that is known.
  func time(of picture: BodyChecksum) -> ServiceTime { times[picture] ?? ServiceTime(.zero) }

  mutating func note(_ picture: BodyChecksum, took time: ServiceTime, expected: ServiceTime) {
    guard picture != .unknown, time >= Self.least, time.charge / Self.factor >= expected.charge else { return }
    guard times.updateValue(time, forKey: picture) == nil else { return }
    guard order.count == Self.most else { return order.append(picture) }
    times[order[next]] = nil
    order[next] = picture
    next = (next + 1) % Self.most
  }
}
