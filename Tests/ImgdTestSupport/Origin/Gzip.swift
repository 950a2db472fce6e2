/// A gzip encoding without compression: stored blocks, which every decoder accepts.
package enum Gzip {
  package static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var packed: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(0xffff)
      rest = rest.dropFirst(block.count)
      packed.append(rest.isEmpty ? 1 : 0)
      packed += number(UInt32(block.count), bytes: 2)
      packed += number(~UInt32(block.count), bytes: 2)
      packed += block
    } while !rest.isEmpty
    return packed + number(Checksum.crc32(bytes), bytes: 4) + number(UInt32(bytes.count), bytes: 4)
  }

  private static func number(_ value: UInt32, bytes: Int) -> [UInt8] {
    (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
  }
}
