internal import CCrypto

/// The first 128 bits of a SHA-256: nobody can find two texts that share them.
package struct Digest128: Hashable, Sendable {
  let high: UInt64
  let low: UInt64

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  init(of bytes: Span<UInt8>) {
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    unsafe bytes.withUnsafeBufferPointer { bytes in _ = unsafe SHA256(bytes.baseAddress, bytes.count, &digest) }
    high = digest[0..<8].reduce(0) { $0 << 8 | UInt64($1) }
    low = digest[8..<16].reduce(0) { $0 << 8 | UInt64($1) }
  }
}
