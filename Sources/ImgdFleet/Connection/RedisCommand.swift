/// A command in the form in which it goes to the server.
struct RedisCommand {
  private var count = 0
  private var parts: [UInt8] = []

  init(_ words: String...) { for word in words { add(word) } }

  mutating func add(_ text: String) {
    open(text.utf8.count)
    parts += text.utf8
    parts += "\r\n".utf8
  }

  mutating func add(_ bytes: [UInt8]) {
    open(bytes.count)
    parts += bytes
    parts += "\r\n".utf8
  }

  mutating func add(_ number: some BinaryInteger) { add(String(number)) }

  private mutating func open(_ length: Int) {
    count += 1
    parts += "$\(length)\r\n".utf8
  }

  /// The whole command, encoded.
  var bytes: [UInt8] { Array("*\(count)\r\n".utf8) + parts }
}
