import ImgdCache

/// Pictures over which decoders took far longer than their sizes let expect: other forms of them are not taken for
/// quick any more.
struct SlowPictures {
  /// How many are remembered; beyond that the first that was noted is forgotten.
  private static let most = 1_024
  /// A busy machine makes all take longer: what counts is out of all proportion.
  private static let factor: Int64 = 4
  private static let least = ServiceTime(.seconds(1))

  private var times: [BodyChecksum: ServiceTime] = [:]
  private var order: [BodyChecksum] = []
  private var next = 0

  /// What an order of the picture takes at least, as far as that is known.
  func time(of picture: BodyChecksum) -> ServiceTime { times[picture] ?? ServiceTime(.zero) }

  mutating func note(_ picture: BodyChecksum, took time: ServiceTime, expected: ServiceTime) {
    guard picture != .unknown, time >= Self.least, time.charge / Self.factor >= expected.charge
    else { return }
    guard times.updateValue(time, forKey: picture) == nil else { return }
    guard order.count == Self.most else { return order.append(picture) }
    times[order[next]] = nil
    order[next] = picture
    next = (next + 1) % Self.most
  }
}
