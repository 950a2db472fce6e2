package import ImgdSystem

/// A checksum of a picture's bytes, which tells whether they are still the ones that were stored.
package struct BodyChecksum: Hashable, Sendable {
  package let high: UInt64
  package let low: UInt64

  /// Takes a checksum as it was kept.
  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Goes over all the bytes: nothing for a loop that others wait for.
  package init(of payload: Payload) {
    let digest = payload.withBytes { Digest128(of: $0) }
    self.init(high: digest.high, low: digest.low)
  }
}
