// The line of a hit is written a million times a second, and all but a few numbers of it is known
// beforehand. So it is put together in one piece of the buffer, from the encoded facts of the image
// and from numbers, without counting commas and without looking at any text again.

/// The answer to a fetch that the memory tier holds, without bytes or headers in it.
package struct HitLine {
  /// What a line has beside the facts, the ending and the longest numbers (measured: 170).
  private static let frame = 256

  /// Written when the request has one; nil for none.
  package let id: Int64?
  package let receipt: ReceiptID
  /// Encoded fields without the comma before or after them.
  package let facts: [UInt8]
  package let age: Int
  package let freshFor: Int
  package let elapsedMicroseconds: UInt64
  /// What comes after the numbers, up to and with the newline.
  package let ending: [UInt8]

  package init(
    id: Int64?, receipt: ReceiptID, facts: [UInt8], age: Int, freshFor: Int,
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

  package func append(to bytes: inout [UInt8]) {
    let capacity = Self.frame + facts.count + ending.count
    bytes.append(addingCapacity: capacity) { (room: inout OutputSpan<UInt8>) in
      // The cursor stays within the capacity that was asked for, and dies with the call.
      unsafe room.withUnsafeMutableBufferPointer { buffer, count in
        guard let start = buffer.baseAddress else { return }
        var cursor = unsafe LineCursor(next: start)
        unsafe write(to: &cursor)
        unsafe count = cursor.next - start
      }
    }
  }

  private func write(to cursor: inout LineCursor) {
    if let id {
      unsafe cursor.text("{\"id\":")
      unsafe cursor.decimal(id)
      unsafe cursor.text(",\"ok\":true,\"receipt\":\"")
    } else {
      unsafe cursor.text("{\"ok\":true,\"receipt\":\"")
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

/// Where the next byte goes, in room that is known to be enough.
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

  mutating func receipt(_ receipt: ReceiptID) {
    var place = 0
    for group in 0..<8 {
      if 1...4 ~= group - 1 {
        unsafe next[place] = UInt8(ascii: "-")
        place += 1
      }
      let digits = (group < 4 ? receipt.high : receipt.low) >> UInt64(48 - 16 * (group & 3))
      for shift in stride(from: UInt64(12), through: 0, by: -4) {
        unsafe next[place] = Hexadecimal.digit(UInt8(truncatingIfNeeded: digits >> shift))
        place += 1
      }
    }
    unsafe next += place
  }
}
