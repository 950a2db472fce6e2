/// Writes numbers and texts as a sequence of bytes, which another process may read.
struct ByteWriter {
  private(set) var bytes: [UInt8] = []

  init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  mutating func put<Number: FixedWidthInteger>(_ number: Number) {
    // A number holds no reference, so its bytes can be copied.
    unsafe withUnsafeBytes(of: number.littleEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  mutating func put(_ more: [UInt8]) {
    put(UInt32(clamping: more.count))
    bytes += more
  }

  mutating func put(_ more: ArraySlice<UInt8>) {
    put(UInt32(clamping: more.count))
    bytes += more
  }

  mutating func put(_ text: String) {
    put(UInt32(clamping: text.utf8.count))
    bytes += text.utf8
  }

  /// A missing text differs from an empty one.
  mutating func put(_ text: String?) {
    put(UInt8(text == nil ? 0 : 1))
    if let text { put(text) }
  }

  /// Puts a checksum of all that follows into the first eight bytes, which were reserved for it.
  mutating func seal() {
    var front = ByteWriter()
    front.put(RowSeal.ofSealed(bytes.span))
    bytes.replaceSubrange(..<front.bytes.count, with: front.bytes)
  }
}

/// Reads what a `ByteWriter` wrote.
///
/// The bytes may be anything: a reader that runs past the end, or meets something that no writer produces,
/// reads nothing more and sets `hasFailed`.
struct ByteReader {
  /// Set when something is not as a writer leaves it: then nothing counts that has been read.
  private(set) var hasFailed = false
  private let all: ArraySlice<UInt8>
  private var place: Int

  init(_ bytes: ArraySlice<UInt8>) {
    all = bytes
    place = bytes.startIndex
  }

  var isAtEnd: Bool { place == all.endIndex }

  /// Reads the checksum that `ByteWriter.seal` put in front, and returns whether the bytes match it.
  mutating func isSealed() -> Bool {
    guard !hasFailed, place == all.startIndex else { return false }
    return number() == RowSeal.ofSealed(all.span) && !hasFailed
  }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number {
    var number: Number = 0
    for index in takeBytes(Number.bitWidth / 8).reversed() {
      number = number << 8 | Number(truncatingIfNeeded: all[index])
    }
    return number
  }

  /// The bytes that have their number in front, where they lie.
  mutating func part() -> ArraySlice<UInt8> { all[takeBytes(Int(number(UInt32.self)))] }

  mutating func bytes() -> [UInt8] { Array(part()) }

  mutating func text() -> String {
    guard let text = String(validating: part(), as: UTF8.self) else {
      fail()
      return ""
    }
    return text
  }

  mutating func optionalText() -> String? { number(UInt8.self) == 0 ? nil : text() }

  /// The range of the next `count` bytes; an empty one when fewer are left.
  private mutating func takeBytes(_ count: Int) -> Range<Int> {
    guard count <= all.endIndex - place else {
      fail()
      return place..<place
    }
    defer { place += count }
    return place..<place + count
  }

  mutating func fail() {
    hasFailed = true
    place = all.endIndex
  }
}

/// A sum over the values of a row or a record, which reveals bytes that have changed on the disk.
///
/// It guards against accidents, not against somebody who can write the file. Every step is
/// reversible, so a single value that differs always shows. The sum is part of the file's layout.
struct RowSeal {
  private var state: UInt64 = 0x6A09_E667_F3BC_C909

  mutating func add<Number: FixedWidthInteger>(_ number: Number) {
    state = (state << 23 | state >> 41) ^ UInt64(truncatingIfNeeded: number)
    state &*= 0x9E37_79B9_7F4A_7C15
  }

  mutating func add(_ bytes: Span<UInt8>) {
    add(bytes.count)
    var offset = 0
    while bytes.count - offset >= 8 {
      add(word(bytes, offset))
      offset += 8
    }
    while offset < bytes.count {
      add(bytes[offset])
      offset += 1
    }
  }

  mutating func add(_ text: String) { add(text.utf8.span) }

  mutating func add(_ text: String?) {
    add(text == nil ? 0 : 1)
    if let text { add(text) }
  }

  func finish() -> UInt64 { state ^ state >> 32 }

  /// The sum over all bytes but the first eight, which are reserved for it.
  static func ofSealed(_ bytes: Span<UInt8>) -> UInt64 {
    var seal = RowSeal()
    seal.add(bytes.extracting(droppingFirst: min(8, bytes.count)))
    return seal.finish()
  }
}
