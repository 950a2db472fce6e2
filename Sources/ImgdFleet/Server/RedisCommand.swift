internal import ImgdSystem

/// A command as the server reads it. Its last word may end with a picture, which stays where it is.
struct RedisCommand {
  static let lineEnd = Array("\r\n".utf8)

  private var words = 0
  private var parts: [UInt8] = []
  private(set) var payload: Payload?

  init(_ words: String...) { for word in words { add(word) } }

  mutating func add(_ text: String) {
    open(text.utf8.count)
    parts += text.utf8
    parts += Self.lineEnd
  }

  mutating func add(_ bytes: [UInt8]) {
    open(bytes.count)
    parts += bytes
    parts += Self.lineEnd
  }

  /// Adds the last word: some bytes, and a picture right behind them.
  mutating func add(_ front: [UInt8], _ payload: Payload) {
    open(front.count + payload.count)
    parts += front
    self.payload = payload
  }

  private mutating func open(_ length: Int) {
    precondition(payload == nil, "nothing follows a picture")
    words += 1
    parts += "$\(length)\r\n".utf8
  }

  /// All of it, or all before the picture; behind that there is one more end of a line.
  var front: [UInt8] { Array("*\(words)\r\n".utf8) + parts }
}
