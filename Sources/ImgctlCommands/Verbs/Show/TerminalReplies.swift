/// The answers of a terminal, read byte by byte.
struct TerminalReplies: Equatable {
  /// Longer than any answer.
  private static let longest = 256
  private static let escape: UInt8 = 0x1b

  private(set) var hasKittyPictures = false
  private(set) var hasSixels = false
  /// The size of a cell in pixels.
  private(set) var cell: PixelSize?
  /// Whether the answer to the last question has come.
  private(set) var isComplete = false
  /// The bytes of an answer that has begun.
  private var sequence: [UInt8] = []

  mutating func read(_ byte: UInt8) {
    if sequence.isEmpty, byte != Self.escape { return }
    sequence.append(byte)
    switch sequence.count > 1 ? sequence[1] : 0 {
    case UInt8(ascii: "["):
      // The final byte of a control sequence.
      if sequence.count > 2, 0x40...0x7e ~= byte { readSequence(endingIn: byte) }
    case UInt8(ascii: "_"): if byte == UInt8(ascii: "\\"), sequence[sequence.count - 2] == Self.escape { endOfString() }
    case 0: return
    default: sequence = []
    }
    if sequence.count > Self.longest { sequence = [] }
  }

  /// `ESC [ 6 ; height ; width t`, or `ESC [ ? number ; ... c`, where 4 among the numbers means sixels.
  private mutating func readSequence(endingIn final: UInt8) {
    defer { sequence = [] }
    let text = String(decoding: sequence.dropFirst(2).dropLast(), as: UTF8.self)
    let numbers = text.drop { $0 == "?" }.split(separator: ";").map { Int($0) ?? -1 }
    if final == UInt8(ascii: "t"), numbers.count == 3, numbers[0] == 6, 1...1000 ~= numbers[1], 1...1000 ~= numbers[2] {
      cell = PixelSize(width: numbers[2], height: numbers[1])
    } else if final == UInt8(ascii: "c"), text.hasPrefix("?") {
      hasSixels = numbers.dropFirst().contains(4)
      isComplete = true
    }
  }

  /// `ESC _ G i=31 ; OK ESC \`
  private mutating func endOfString() {
    let text = String(decoding: sequence.dropFirst(2).dropLast(2), as: UTF8.self)
    if text.hasPrefix("Gi=31"), text.hasSuffix(";OK") { hasKittyPictures = true }
    sequence = []
  }
}
