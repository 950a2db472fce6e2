/// Requests in their order: keys from zero on, and the size of each.
struct Trace {
  let name: String
  /// The size of a key's picture, which stays the same.
  private(set) var sizes: [Int] = []
  private(set) var keys: [Int32] = []
  /// How many sets of pictures are asked for one after the other.
  private let phases: Int

  init(_ name: String, phases: Int = 1) {
    self.name = name
    self.phases = phases
  }

  /// The capacity that it is played with: a tenth of what is asked for in one phase.
  var capacity: Int { sizes.reduce(0, +) / phases / 10 }

  /// A key that has not been asked for yet.
  mutating func addKey(size: Int) -> Int32 {
    sizes.append(size)
    return Int32(sizes.count - 1)
  }

  mutating func ask(_ key: Int32) {
    keys.append(key)
  }
}

extension Trace {
  /// Reads a file with a key on each line, and its size if the pictures are not all alike; a picture
  /// keeps the size that it has first.
  init(file path: String) throws(BenchFailure) {
    self.init(path.split(separator: "/").last.map(String.init) ?? path)
    guard let text = File.text(path) else { throw .unavailable("\(path) cannot be read") }
    var known: [Substring: Int32] = [:]
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let words = line.split { $0 == " " || $0 == "\t" || $0 == "," || $0 == "\r" }
      guard let word = words.first else { continue }
      if let key = known[word] {
        ask(key)
        continue
      }
      guard words.count < 3, let size = words.count > 1 ? Int(words[1]) : 1, size > 0 else {
        throw .unavailable("\(path):\(index + 1): '\(line)' is not a key, or a key and its size")
      }
      let key = addKey(size: size)
      known[word] = key
      ask(key)
    }
    guard !keys.isEmpty else { throw .unavailable("\(path) has no requests") }
  }
}
