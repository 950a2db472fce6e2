package import ImgdSystem

/// What a fleet's server has under a picture's key, and may be anything: its front in one piece of memory, the picture
/// in memory of its own.
package struct ArrivedValue: Sendable, Equatable {
  /// The length of all of it.
  package let count: Int
  /// Head and row of a value that is whole; the first bytes of anything else.
  package let front: [UInt8]
  /// The picture of a value that is whole; an answer has an empty one.
  package let payload: Payload?
  /// Of the picture.
  let checksum: BodyChecksum

  fileprivate init(count: Int, front: [UInt8], payload: Payload?, checksum: BodyChecksum) {
    (self.count, self.front, self.payload, self.checksum) = (count, front, payload, checksum)
  }

  package init(_ bytes: [UInt8]) {
    let arriving = ArrivingValue(count: bytes.count)
    arriving.append(bytes.span)
    self = arriving.finish()
  }

  package static func == (one: ArrivedValue, other: ArrivedValue) -> Bool {
    one.count == other.count && one.front == other.front && one.checksum == other.checksum
      && one.payload?.count == other.payload?.count
  }
}

/// Collects such a value as it arrives. The picture goes from where it was read to where it stays, and its checksum is
/// computed on the way; of what is no whole value, nothing is kept but its first bytes.
package final class ArrivingValue {
  private let count: Int
  private var front: [UInt8] = []
  /// How many bytes stand before the picture, as far as is known.
  private var frontCount = FleetValue.headLength
  private var isWhole = false
  private var body = PayloadWriter()
  private var checksum = RunningChecksum()

  /// For a value of so many bytes.
  package init(count: Int) { self.count = count }

  /// Adds the bytes that have come next.
  package func append(_ bytes: Span<UInt8>) {
    var start = 0
    while front.count < frontCount, start < bytes.count {
      let end = min(bytes.count, start + frontCount - front.count)
      for index in start..<end { front.append(bytes[index]) }
      start = end
      if front.count == FleetValue.headLength { readHead() }
    }
    guard isWhole, start < bytes.count else { return }
    let part = bytes.extracting(start..<bytes.count)
    checksum.add(part)
    do throws(SystemFailure) {
      try unsafe part.withUnsafeBytes { (part) throws(SystemFailure) in try unsafe body.append(part) }
    } catch {
      // There is no memory for it.
      isWhole = false
      body.reset()
    }
  }

  private func readHead() {
    let front = self.front
    guard let head = FleetValue.Head(front.span), head.isOfValue(of: count) else { return }
    isWhole = true
    frontCount += head.rowCount
    body.expect(head.bodyCount)
  }

  /// What has come, once all of it has.
  package func finish() -> ArrivedValue {
    let payload = isWhole ? body.count > 0 ? try? body.finish() : Payload([]) : nil
    return ArrivedValue(count: count, front: front, payload: payload, checksum: checksum.value)
  }
}
