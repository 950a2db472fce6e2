import ImgdSystem

/// What was read together with descriptors, until its lines have been executed.
///
/// The kernel ends a read with the message that brought descriptors, and so they belong to the line that the last byte
/// belongs to. All that is before that line is fed first, and the line alone.
struct HandedLines {
  private var bytes: [UInt8] = []
  private var head = 0
  /// Where the line of the descriptors begins.
  private var mark = 0
  private var files: [HandedFile] = []

  var hasMore: Bool { head < bytes.count }

  /// Takes in what one read has brought; everything before has been fed.
  mutating func add(_ chunk: Span<UInt8>, with files: [HandedFile]) {
    bytes = unsafe chunk.withUnsafeBufferPointer { unsafe Array($0) }
    head = 0
    self.files = files
    mark = files.isEmpty ? bytes.count : (bytes.dropLast().lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
  }

  /// The next part that is to be fed, with whose line its descriptors come to the client's place: the rest of a line with
  /// descriptors, or several lines without.
  mutating func takeNext(for place: ReplyPlace) -> [UInt8] {
    if head == mark {
      place.handed += files
      files = []
    }
    var end = head < mark ? mark : bytes.count
    if !place.handed.isEmpty, let newline = bytes[head..<end].firstIndex(of: UInt8(ascii: "\n")) { end = newline + 1 }
    defer { head = end }
    if end == bytes.count, head == 0 { return bytes }
    return Array(bytes[head..<end])
  }

  /// Forgets everything; returns the descriptors.
  mutating func removeAll() -> [HandedFile] {
    defer { self = HandedLines() }
    return files
  }
}
