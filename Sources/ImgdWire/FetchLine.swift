// A hit is answered up to a million times a second, and all of its line but a few numbers is known
// beforehand. So the line is written straight into the buffer, from the encoded fields of the image
// and a few numbers, without counting commas and without escaping any text again. Lines of pictures
// that are no hits take the same way, with fields that are encoded for them alone.

/// The terminal line of a fetch that brought a picture.
package struct FetchLine {
  /// Room for everything but the facts and the ending (170 bytes were measured).
  private static let frame = 256

  package let id: RequestID
  package let receipt: ReceiptID
  /// Encoded fields without the comma before or after them.
  package let facts: [UInt8]
  package let age: Int
  package let freshFor: Int
  package let elapsedMicroseconds: UInt64
  /// The rest of the line after the numbers, with the newline.
  package let ending: [UInt8]

  /// An ending with these encoded fields, or with none.
  package static func ending(_ fields: [UInt8]) -> [UInt8] {
    fields.isEmpty ? Array("}\n".utf8) : Array(",".utf8) + fields + Array("}\n".utf8)
  }

  package init(
    id: RequestID, receipt: ReceiptID, facts: [UInt8], age: Int, freshFor: Int,
    elapsedMicroseconds: UInt64, ending: [UInt8]
  ) {
    self.id = id
    self.receipt = receipt
    self.facts = facts
    self.age = age
    self.freshFor = freshFor
    self.elapsedMicroseconds = elapsedMicroseconds
    self.ending = ending
  }

  /// Appends the whole line with its newline.
  package func append(to bytes: inout [UInt8]) {
    if case .string(let text) = id { Self.append(text, to: &bytes) }
    let capacity = Self.frame + facts.count + ending.count
    bytes.append(addingCapacity: capacity) { (room: inout OutputSpan<UInt8>) in
      // The cursor stays within the requested capacity and does not outlive the call.
      unsafe room.withUnsafeMutableBufferPointer { buffer, count in
        guard let start = buffer.baseAddress else { return }
        var cursor = unsafe LineCursor(next: start)
        unsafe write(to: &cursor)
        unsafe count = cursor.next - start
      }
    }
  }

  /// Begins a line with an id that has to be escaped.
  private static func append(_ id: String, to bytes: inout [UInt8]) {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("id", id)
    bytes += writer.bytes
  }

  private func write(to cursor: inout LineCursor) {
    switch id {
    case .none: unsafe cursor.text("{\"ok\":true,\"receipt\":\"")
    case .integer(let id):
      unsafe cursor.text("{\"id\":")
      unsafe cursor.decimal(id)
      unsafe cursor.text(",\"ok\":true,\"receipt\":\"")
    case .string: unsafe cursor.text(",\"ok\":true,\"receipt\":\"")
    }
    unsafe cursor.receipt(receipt)
    unsafe cursor.text("\",")
    unsafe cursor.bytes(facts)
    unsafe cursor.text(",\"age\":")
    unsafe cursor.decimal(Int64(age))
    unsafe cursor.text(",\"fresh_for\":")
    unsafe cursor.decimal(Int64(freshFor))
    unsafe cursor.text(",\"elapsed_ms\":")
    unsafe cursor.decimal(Int64(clamping: elapsedMicroseconds / 1_000))
    unsafe cursor.text(".")
    unsafe cursor.decimal(Int64(elapsedMicroseconds / 100 % 10))
    unsafe cursor.bytes(ending)
  }
}

/// The place of the next byte, in a buffer that is known to be large enough.
@unsafe private struct LineCursor {
  var next: UnsafeMutablePointer<UInt8>

  mutating func text(_ text: StaticString) {
    unsafe next.update(from: text.utf8Start, count: text.utf8CodeUnitCount)
    unsafe next += text.utf8CodeUnitCount
  }

  mutating func bytes(_ bytes: [UInt8]) {
    unsafe bytes.withUnsafeBufferPointer { source in
      guard let start = source.baseAddress else { return }
      unsafe next.update(from: start, count: source.count)
    }
    unsafe next += bytes.count
  }

  mutating func decimal(_ number: Int64) {
    if number < 0 { unsafe text("-") }
    var rest = number.magnitude
    var length = 1
    while rest >= 10 {
      rest /= 10
      length += 1
    }
    rest = number.magnitude
    for place in stride(from: length - 1, through: 0, by: -1) {
      unsafe next[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    unsafe next += length
  }

  /// Writes eight digits at a time; where a hyphen divides them, the second half is written again.
  mutating func receipt(_ receipt: ReceiptID) {
    let digits = (
      hexDigits(receipt.high >> 32), hexDigits(receipt.high), hexDigits(receipt.low >> 32),
      hexDigits(receipt.low)
    )
    unsafe put(digits.0, at: 0)
    unsafe put(digits.1, at: 9)
    unsafe put(digits.1 >> 32, at: 14)
    unsafe put(digits.2, at: 19)
    unsafe put(digits.2 >> 32, at: 24)
    unsafe put(digits.3, at: 28)
    unsafe next[8] = UInt8(ascii: "-")
    unsafe next[13] = UInt8(ascii: "-")
    unsafe next[18] = UInt8(ascii: "-")
    unsafe next[23] = UInt8(ascii: "-")
    unsafe next += ReceiptID.textLength
  }

  private func put(_ digits: UInt64, at place: Int) {
    unsafe UnsafeMutableRawPointer(next + place)
      .storeBytes(of: digits.littleEndian, as: UInt64.self)
  }
}

/// The eight hexadecimal digits of the lower half of a number, the first in the lowest byte.
///
/// All eight at once: the nibbles are spread over the bytes of a word, and those above 9 are shifted
/// to the letters.
private func hexDigits(_ number: UInt64) -> UInt64 {
  var spread = UInt64(UInt32(truncatingIfNeeded: number).byteSwapped)
  spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
  spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
  let nibbles = (spread >> 4 | spread << 8) & 0x0F0F_0F0F_0F0F_0F0F
  let letters = ((nibbles + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101
  return nibbles + 0x3030_3030_3030_3030 + letters * 0x27
}
