/// The kinds of messages between the daemon and a decoder.
enum MessageKind: UInt16 {
  case abilities = 1
  case order, answer
}

/// What both sides of the channel agree on.
enum MessageLayout {
  /// The letters imgd.
  static let mark: UInt32 = 0x6467_6d69
  /// Incremented with every change, since a decoder may have been installed after its daemon was started.
  static let version: UInt16 = 1
  /// The most bytes of a message; longer ones are refused.
  static let longest = 1_024
  /// The most bytes of a text.
  static let longestText = 200
  static let longestThumbHash = 64
  /// Stands for a value that is left out.
  static let none: UInt8 = 255
}

/// Writes a message: numbers from the low byte up, without gaps.
struct MessageWriter {
  private(set) var bytes: [UInt8] = []

  init(_ kind: MessageKind) {
    append(MessageLayout.mark)
    append(MessageLayout.version)
    append(kind.rawValue)
  }

  mutating func append(_ number: some FixedWidthInteger & UnsignedInteger) {
    var rest = number
    for _ in 0..<number.bitWidth / 8 {
      bytes.append(UInt8(truncatingIfNeeded: rest))
      rest = rest >> 8
    }
  }

  mutating func append(_ flag: Bool) { append(UInt8(flag ? 1 : 0)) }

  /// Appends a number that is not negative.
  mutating func append32(_ number: Int) { append(UInt32(clamping: number)) }

  mutating func append(_ list: [UInt8]) {
    append(UInt8(clamping: list.count))
    bytes.append(contentsOf: list.prefix(Int(UInt8.max)))
  }

  /// A text, cut after as many whole characters as there is room for.
  mutating func append(_ text: String) {
    var room: [UInt8] = []
    for scalar in text.unicodeScalars {
      let letter = Array(String(scalar).utf8)
      guard room.count + letter.count <= MessageLayout.longestText else { break }
      room += letter
    }
    append(room)
  }
}
