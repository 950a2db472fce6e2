internal import ImgdText

/// One version of a picture, as a file: the digest of its key, its number, and the kind of its bytes.
///
/// The next version has another number, so the meaning of a name never changes.
package struct PictureFile: Hashable, Sendable {
  package let digest: KeyDigest
  /// The entry's number, never used twice for one digest.
  package let number: UInt32
  /// The kind of the bytes, as an extension without its dot.
  package let suffix: String

  /// Nil for a suffix that is not one to eight lower-case letters and digits.
  package init?(digest: KeyDigest, number: UInt32, suffix: String) {
    guard isSuffix(suffix.utf8) else { return nil }
    self.digest = digest
    self.number = number
    self.suffix = suffix
  }

  /// Reads a name as `name` writes it, and accepts no other spelling.
  package init?(name: String) {
    let bytes = name.utf8
    guard bytes.count <= Self.longestName, let dash = bytes.firstIndex(of: UInt8(ascii: "-")),
      let dot = bytes.firstIndex(of: UInt8(ascii: ".")), dash < dot, let digest = KeyDigest(hex: name[..<dash]),
      let number = plainNumber(bytes[bytes.index(after: dash)..<dot])
    else { return nil }
    self.init(digest: digest, number: number, suffix: String(name[name.index(after: dot)...]))
  }

  /// 32 digits, a dash, 8 digits, a dot and 8 letters.
  private static let longestName = 50

  package var name: String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.longestName)
    appendName(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  package var relativePath: String { Subdirectory.name(subdirectory) + "/" + name }

  /// Its path in a directory of the layout. Each hit by path on a picture that only the disk has needs one, so
  /// its bytes are written into one buffer, without joining strings.
  package func path(in layout: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(layout.utf8.count + 4 + Self.longestName)
    bytes.append(contentsOf: layout.utf8)
    bytes.append(UInt8(ascii: "/"))
    bytes.appendHex(digest.high >> 56, digits: 2)
    bytes.append(UInt8(ascii: "/"))
    appendName(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  private func appendName(to bytes: inout [UInt8]) {
    bytes.appendHex(digest.high, digits: 16)
    bytes.appendHex(digest.low, digits: 16)
    bytes.append(UInt8(ascii: "-"))
    bytes.appendHex(UInt64(number), digits: max((35 - number.leadingZeroBitCount) / 4, 1))
    bytes.append(UInt8(ascii: "."))
    bytes.append(contentsOf: suffix.utf8)
  }

  var subdirectory: Int { Subdirectory.number(of: digest) }
}

private func isSuffix(_ bytes: some Collection<UInt8>) -> Bool {
  (1...8).contains(bytes.count) && bytes.allSatisfy { decimalValue($0) != nil || $0 &- UInt8(ascii: "a") < 26 }
}

/// A hexadecimal number of 32 bits without leading zeros.
private func plainNumber(_ digits: some Collection<UInt8>) -> UInt32? {
  guard digits.first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
  return lowerHex(digits).flatMap { UInt32(exactly: $0) }
}

/// The directories that the pictures are spread over, each known by a number.
///
/// The first two digits of a digest name one: with a million pictures there are 4,000 in each. More directories
/// would make an empty cache expensive: most of its first pictures would need a new one.
package enum Subdirectory {
  package static let count = 256

  static func name(_ number: Int) -> String { (number < 16 ? "0" : "") + String(number, radix: 16) }

  static func digests(_ number: Int) -> (first: KeyDigest, last: KeyDigest) {
    let first = UInt64(number) << 56
    return (KeyDigest(high: first, low: 0), KeyDigest(high: first | 0xFF_FFFF_FFFF_FFFF, low: .max))
  }

  static func number(of digest: KeyDigest) -> Int { Int(digest.high >> 56) }
}

/// What an image keeps of its file on disk, which may have gone in the meantime.
package final class StoredFile {
  let place: Int
  /// The generation of its index: another index gives the same numbers to other entries.
  let generation: Int
  /// The directory that has all files; they share one copy of this text.
  private let directory: String
  private let file: PictureFile

  init(_ file: PictureFile, in directory: String, place: Int, generation: Int) {
    self.file = file
    self.directory = directory
    self.place = place
    self.generation = generation
  }

  var number: UInt32 { file.number }

  /// Its path, put together for each call: few pictures are asked for by path, and the ending of their answers is kept.
  package var path: String { file.path(in: directory) }

  /// The memory of the object itself.
  var cost: Int { 96 }
}

final class DiskFiles {
  private(set) var directory: DiskDirectory?
  private var layoutPath = ""

  private let index: DiskIndex
  private let threads: DiskThreads
  /// The endings of file names, by the number of the format.
  private let suffixes: [String]

  init(index: DiskIndex, threads: DiskThreads, suffixes: [String]) {
    self.index = index
    self.threads = threads
    self.suffixes = suffixes
  }

  var isOpen: Bool { directory != nil }

  func enter(_ directory: DiskDirectory) {
    self.directory = directory
    layoutPath = directory.layoutPath
  }

  func leave() { directory = nil }

  func suffix(of facts: ImageFacts) -> String { suffixes[Int(facts.format)] }

  /// Whether a picture has a format of this version; a later version may have stored others.
  func knows(_ facts: ImageFacts) -> Bool { suffixes.indices.contains(Int(facts.format)) }

  func file(of entry: DiskEntry) -> PictureFile? {
    PictureFile(digest: entry.digest, number: entry.number, suffix: suffix(of: entry.facts))
  }

  func path(of entry: DiskEntry) -> String? {
    guard directory != nil, let file = file(of: entry) else { return nil }
    return file.path(in: layoutPath)
  }

  func name(of entry: DiskEntry) -> String { file(of: entry)?.name ?? entry.digest.hex }

  func stored(_ entry: DiskEntry, at place: Int) -> StoredFile? {
    guard directory != nil, let file = file(of: entry) else { return nil }
    return StoredFile(file, in: layoutPath, place: place, generation: threads.generation)
  }

  func holds(_ file: StoredFile) -> Bool {
    file.generation == threads.generation && index.holds(file.number, at: file.place)
  }

  func entry(of file: StoredFile) -> DiskEntry? {
    file.generation == threads.generation ? index.entry(at: file.place, number: file.number) : nil
  }
}
