package import ImgdSystem
internal import ImgdText

/// A checksum of a picture's bytes, which tells whether they are still the ones that were stored.
///
/// It is XXH64 with the seed 0: it notices accidental damage to a file, above all a part that was never
/// written, and takes a sixth of the time of a SHA-256 where the processor has instructions for that, and a
/// twentieth elsewhere. It need not resist attackers: anyone who may write the files may write the index too.
package struct BodyChecksum: Hashable, Sendable {
  package let value: UInt64

  /// Stands for the checksum of bytes that has not been computed.
  package static let unknown = BodyChecksum(0)

  /// A checksum that was computed and stored earlier.
  package init(_ value: UInt64) { self.value = value }

  /// The checksum as sixteen hexadecimal digits, as answers and people get it.
  package var text: String {
    var digits: [UInt8] = []
    digits.appendHex(value, digits: 16)
    return String(decoding: digits, as: UTF8.self)
  }

  /// Goes over all the bytes at once, so a loop that others wait for must not call it (`PartialChecksum`).
  package init(of payload: Payload) { self.init(payload.withBytes(Self.sum)) }

  private static let primes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (
    0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5
  )

  private static func sum(_ bytes: Span<UInt8>) -> UInt64 {
    var lanes = Lanes()
    let end = lanes.addStripes(bytes)
    return sum(bytes.extracting(end..<bytes.count), of: bytes.count, after: lanes)
  }

  /// The sum over `count` bytes, of which `bytes` are the last, after the lanes have gone over all whole stripes.
  fileprivate static func sum(_ bytes: Span<UInt8>, of count: Int, after lanes: Lanes) -> UInt64 {
    var offset = 0
    var sum = (count >= 32 ? lanes.merged : primes.4) &+ UInt64(count)
    while bytes.count - offset >= 8 {
      sum = rotated(sum ^ round(0, word(bytes, offset)), 27) &* primes.0 &+ primes.3
      offset += 8
    }
    if bytes.count - offset >= 4 {
      sum = rotated(sum ^ half(bytes, offset) &* primes.0, 23) &* primes.1 &+ primes.2
      offset += 4
    }
    while offset < bytes.count {
      sum = rotated(sum ^ UInt64(bytes[offset]) &* primes.4, 11) &* primes.0
      offset += 1
    }
    return finished(sum)
  }

  /// The sums over whole stripes of 32 bytes, in four lanes that do not wait for each other.
  fileprivate struct Lanes {
    private var one = primes.0 &+ primes.1
    private var two = primes.1
    private var three: UInt64 = 0
    private var four = 0 &- primes.0

    /// Goes over the whole stripes of some bytes, and returns where they end.
    @discardableResult mutating func addStripes(_ bytes: Span<UInt8>) -> Int {
      let stripes = bytes.count / 32
      // Changed in a copy, which the processor's registers hold, and checked once for all stripes: half the work.
      var lanes = self
      unsafe bytes.extracting(0..<32 * stripes).withUnsafeBytes { bytes in
        for start in stride(from: 0, to: 32 * stripes, by: 32) {
          lanes.one = unsafe round(lanes.one, bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
          lanes.two = unsafe round(lanes.two, bytes.loadUnaligned(fromByteOffset: start &+ 8, as: UInt64.self))
          lanes.three = unsafe round(lanes.three, bytes.loadUnaligned(fromByteOffset: start &+ 16, as: UInt64.self))
          lanes.four = unsafe round(lanes.four, bytes.loadUnaligned(fromByteOffset: start &+ 24, as: UInt64.self))
        }
      }
      self = lanes
      return 32 * stripes
    }

    var merged: UInt64 {
      var sum = rotated(one, 1) &+ rotated(two, 7) &+ rotated(three, 12) &+ rotated(four, 18)
      for lane in [one, two, three, four] { sum = (sum ^ round(0, lane)) &* primes.0 &+ primes.3 }
      return sum
    }
  }

  @inline(__always) private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
    rotated(lane &+ word &* primes.1, 31) &* primes.0
  }

  @inline(__always) private static func rotated(_ number: UInt64, _ count: UInt64) -> UInt64 {
    number &<< count | number &>> (64 - count)
  }

  private static func half(_ bytes: Span<UInt8>, _ offset: Int) -> UInt64 {
    (0..<4).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
  }

  private static func finished(_ sum: UInt64) -> UInt64 {
    var sum = (sum ^ sum >> 33) &* primes.1
    sum = (sum ^ sum >> 29) &* primes.2
    return sum ^ sum >> 32
  }
}

/// A checksum that is computed in parts, for a loop that others wait for.
package struct PartialChecksum {
  private let payload: Payload
  private var lanes = BodyChecksum.Lanes()
  /// Where the next stripe begins.
  private var end = 0

  package init(of payload: Payload) { self.payload = payload }

  /// Goes over some more bytes, at least a stripe of 32, and returns the checksum once it has reached the end.
  package mutating func addBytes(most: Int) -> BodyChecksum? {
    payload.withBytes { bytes in
      end += lanes.addStripes(bytes.extracting(end..<min(bytes.count, end + max(most, 32))))
      guard bytes.count - end < 32 else { return nil }
      return BodyChecksum(BodyChecksum.sum(bytes.extracting(end..<bytes.count), of: bytes.count, after: lanes))
    }
  }
}

/// A checksum of bytes that come in pieces.
struct RunningChecksum {
  private var lanes = BodyChecksum.Lanes()
  /// The beginning of a stripe.
  private var rest: [UInt8] = []
  private var count = 0

  mutating func add(_ bytes: Span<UInt8>) {
    count += bytes.count
    var start = 0
    if !rest.isEmpty {
      start = min(32 - rest.count, bytes.count)
      for index in 0..<start { rest.append(bytes[index]) }
      guard rest.count == 32 else { return }
      let stripe = rest
      lanes.addStripes(stripe.span)
      rest = []
    }
    start += lanes.addStripes(bytes.extracting(start..<bytes.count))
    for index in start..<bytes.count { rest.append(bytes[index]) }
  }

  /// Of all bytes so far.
  var value: BodyChecksum { BodyChecksum(BodyChecksum.sum(rest.span, of: count, after: lanes)) }
}

/// What tells two versions of a picture apart.
package struct PictureVersion: Sendable, Equatable {
  package let checksum: BodyChecksum
  /// When its origin last changed it, in seconds since 1970; nil where the origin does not say.
  package let modified: Int64?
}

extension CachedImage {
  /// The picture's version; without a time of its last change where the origin does not name one.
  package var version: PictureVersion {
    PictureVersion(
      checksum: checksum,
      modified: response.lastModified.flatMap { modification($0, readAt: storedAtWall) }.map { Int64($0) })
  }

  /// Whether others may keep it: its origin allows it, and its key has no credentials.
  package var mayBeKept: Bool { freshness.refusal == nil && scope == nil }
}

extension DiskEntry {
  /// The picture's version as the index in memory has it, without reading the record.
  var version: PictureVersion { PictureVersion(checksum: checksum, modified: modified > 0 ? Int64(modified) : nil) }
}

extension StoredRecord {
  /// When the origin last changed the picture, in seconds since 1970; zero where it does not say.
  var modified: UInt32 {
    HeaderPacking.value(of: "last-modified", in: headers).flatMap { modification($0, readAt: storedAt) } ?? 0
  }
}

/// A `Last-Modified` as the 32 bits of seconds that the index has room for; nil for any other text.
private func modification(_ text: String, readAt now: Int64) -> UInt32? {
  HTTPDate.parse(text, now: now).flatMap { UInt32(exactly: $0) }.flatMap { $0 > 0 ? $0 : nil }
}
