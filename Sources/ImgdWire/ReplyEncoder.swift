/// The frame of every line of the daemon: the request's id first, then `ok` or `event`, then the rest.
package enum ReplyEncoder {
  /// Begins a terminal line; the fields follow, then `end`.
  package static func begin(id: RequestID, ok: Bool, into json: inout JSONWriter) {
    json.beginObject()
    field(id, into: &json)
    json.field("ok", ok)
  }

  /// Begins an event line; the fields follow, then `end`.
  package static func begin(
    id: RequestID = .none, event: StaticString, receipt: ReceiptID? = nil, into json: inout JSONWriter
  ) {
    json.beginObject()
    field(id, into: &json)
    json.name("event")
    json.value(static: event)
    if let receipt { json.field("receipt", receipt) }
  }

  /// Ends a line that was begun.
  package static func end(into json: inout JSONWriter) {
    json.endObject()
    json.newline()
  }

  /// A whole terminal line for an error.
  package static func failure(id: RequestID, receipt: ReceiptID? = nil, error: WireError, into json: inout JSONWriter) {
    begin(id: id, ok: false, into: &json)
    if let receipt { json.field("receipt", receipt) }
    self.error(error, into: &json)
    end(into: &json)
  }

  /// The field `error`, for lines that hold more than the error.
  package static func error(_ error: WireError, into json: inout JSONWriter) {
    json.beginObject("error")
    json.field("code", error.code.rawValue)
    json.field("message", error.message)
    json.field("retryable", error.isRetryable)
    if !error.details.isEmpty {
      json.name("details")
      json.object(error.details)
    }
    json.endObject()
  }

  static func field(_ id: RequestID, into json: inout JSONWriter) {
    switch id {
    case .none: return
    case .integer(let number): json.field("id", Int(number))
    case .string(let string): json.field("id", string)
    }
  }
}

// A hit is answered up to a million times a second, and all of its line but a few numbers is known beforehand. So the
// line is written straight into the buffer, from the encoded fields of the image and a few numbers, without counting
// commas and without escaping any text again. Other pictures' lines are written in the same way.

/// The terminal line of a fetch that brought a picture.
package enum FetchLine {
  /// Room for everything but the facts and the ending (170 bytes were measured).
  private static let frame = 256

  /// The numbers in which the lines of a picture differ.
  package struct Numbers: Sendable {
    package let receipt: ReceiptID
    package let age: Int
    package let freshFor: Int
    package let elapsedMicroseconds: UInt64

    package init(receipt: ReceiptID, age: Int, freshFor: Int, elapsedNanoseconds: Int64) {
      self.receipt = receipt
      self.age = age
      self.freshFor = freshFor
      elapsedMicroseconds = UInt64(max(elapsedNanoseconds, 0)) / 1_000
    }
  }

  /// An ending with these encoded fields, or with none.
  package static func ending(_ fields: [UInt8]) -> [UInt8] {
    fields.isEmpty ? Array("}\n".utf8) : Array(",".utf8) + fields + Array("}\n".utf8)
  }

  /// Appends a line, all parts of which are encoded except the numbers: the id, empty for none; the fields before the
  /// numbers, without commas around them; further fields, each with a comma before it; and the rest of the line.
  package static func append(
    to bytes: inout [UInt8], id: Span<UInt8>, _ numbers: Numbers, facts: Span<UInt8>, details: Span<UInt8>,
    ending: Span<UInt8>
  ) {
    let capacity = frame + id.count + facts.count + details.count + ending.count
    bytes.append(addingCapacity: capacity) { (room: inout OutputSpan<UInt8>) in
      // The cursor stays within the requested capacity and does not outlive the call.
      unsafe room.withUnsafeMutableBufferPointer { buffer, count in
        guard let start = buffer.baseAddress else { return }
        var cursor = unsafe LineCursor(next: start)
        unsafe cursor.beginning(id: id, numbers.receipt)
        unsafe cursor.bytes(facts)
        unsafe cursor.ages(of: numbers)
        unsafe cursor.bytes(details)
        unsafe cursor.bytes(ending)
        unsafe count = cursor.next - start
      }
    }
  }
}

extension RequestID {
  /// The id as a line has it; empty for none.
  package var written: [UInt8] {
    var text: [UInt8] = []
    switch self {
    case .none: break
    case .integer(let number): text.appendInteger(number)
    case .string(let string): text.appendString(string)
    }
    return text
  }
}

/// The place of the next byte, in a buffer that is known to be large enough.
@unsafe private struct LineCursor {
  var next: UnsafeMutablePointer<UInt8>

  mutating func beginning(id: Span<UInt8>, _ receipt: ReceiptID) {
    if id.isEmpty {
      unsafe text("{\"ok\":true,\"receipt\":\"")
    } else {
      unsafe text("{\"id\":")
      unsafe bytes(id)
      unsafe text(",\"ok\":true,\"receipt\":\"")
    }
    unsafe receipt.write(to: next)
    unsafe next += ReceiptID.textLength
    unsafe text("\",")
  }

  mutating func ages(of numbers: FetchLine.Numbers) {
    unsafe text(",\"age\":")
    unsafe decimal(Int64(numbers.age))
    unsafe text(",\"fresh_for\":")
    unsafe decimal(Int64(numbers.freshFor))
    unsafe text(",\"elapsed_ms\":")
    unsafe decimal(Int64(clamping: numbers.elapsedMicroseconds / 1_000))
    unsafe text(".")
    unsafe digit(UInt8(truncatingIfNeeded: numbers.elapsedMicroseconds / 100 % 10))
  }

  mutating func text(_ text: StaticString) {
    unsafe next.update(from: text.utf8Start, count: text.utf8CodeUnitCount)
    unsafe next += text.utf8CodeUnitCount
  }

  mutating func bytes(_ bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { source in
      guard let start = source.baseAddress else { return }
      unsafe next.update(from: start, count: source.count)
    }
    unsafe next += bytes.count
  }

  mutating func digit(_ digit: UInt8) {
    unsafe next.pointee = UInt8(ascii: "0") + digit
    unsafe next += 1
  }

  mutating func decimal(_ number: Int64) {
    if 0..<10 ~= number { return unsafe digit(UInt8(truncatingIfNeeded: number)) }
    if 0..<100_000_000 ~= number { return unsafe shortDecimal(UInt64(bitPattern: number)) }
    if number < 0 { unsafe text("-") }
    var rest = number.magnitude
    var length = 1
    var bound: UInt64 = 10
    // A number of 63 bits has 19 digits at most.
    while rest >= bound {
      length += 1
      bound = bound &* 10
    }
    var place = length
    repeat {
      place -= 1
      let tens = rest / 10
      unsafe next[place] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- tens &* 10)
      rest = tens
    } while place > 0
    unsafe next += length
  }

  /// Writes a number of at most eight digits, without leading zeros.
  private mutating func shortDecimal(_ number: UInt64) {
    let digits = eightDigits(number)
    let leading = min(digits.trailingZeroBitCount & ~7, 56)
    unsafe put((digits | 0x3030_3030_3030_3030) >> leading)
    unsafe next += 8 - leading / 8
  }

  private func put(_ digits: UInt64) {
    unsafe UnsafeMutableRawPointer(next).storeBytes(of: digits.littleEndian, as: UInt64.self)
  }
}

/// The eight decimal digits of a number that has no more, the first in the lowest byte. All of them at once: the
/// number is taken apart into two parts of four digits, four of two, eight of one, each in its own part of a word.
/// The divisions are products that are exact for such small numbers.
private func eightDigits(_ number: UInt64) -> UInt64 {
  let high = number / 10_000
  let fours = high | (number &- high &* 10_000) << 32
  let hundreds = (fours &* 10_486) >> 20 & 0x0000_007F_0000_007F
  let twos = hundreds | (fours &- hundreds &* 100) << 16
  let tens = (twos &* 103) >> 10 & 0x000F_000F_000F_000F
  return tens | (twos &- tens &* 10) << 8
}
