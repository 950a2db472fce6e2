// File managers and other programs of a desktop share thumbnails, by the rules of
// https://specifications.freedesktop.org/thumbnail-spec/latest/: a PNG is named by the MD5 of its file's URI, and is up
// to date as long as it has the time at which the file was changed last.

import Glibc
import ImgdSystem
import ImgdText

/// The thumbnail of a file where all programs of a desktop look for it.
struct DesktopThumbnail {
  /// The names of the directories, by the longest side of the pictures in them.
  static let directories = [128: "normal", 256: "large", 512: "x-large", 1024: "xx-large"]

  /// The first bytes of a PNG: its signature and its first chunk.
  private static let head = 33
  /// Programs write the texts before the pixels; a thumbnail whose texts lie further behind is made anew.
  private static let mostLooked = 1 << 16

  let path: String
  /// What the file's URI, its time and its size are, each as a text chunk has it.
  private let texts: [[UInt8]]

  /// Makes the directory for a size of `directories`, and those above it.
  static func makeDirectory(_ side: Int, _ environment: [String: String]) throws(Failure) -> String {
    let named = environment["XDG_CACHE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
    guard let cache = named ?? environment["HOME"].map({ $0 + "/.cache" }), let name = directories[side] else {
      throw Failure(.failed, "there is no place for thumbnails: set HOME or XDG_CACHE_HOME")
    }
    do throws(SystemFailure) {
      for path in [cache, cache + "/thumbnails", cache + "/thumbnails/" + name] {
        try NewDirectories.make(path, mode: 0o700)
      }
    } catch { throw Failure(error) }
    return cache + "/thumbnails/" + name
  }

  /// The thumbnail of an open file, whose status cannot be that of another one.
  init(of file: SharedDescriptor, at path: String, in directory: String) throws(SystemFailure) {
    var status = stat()
    guard unsafe fstat(file.descriptor.number, &status) == 0 else { throw SystemFailure("fstat", path) }
    let uri = try Self.uri(of: path)
    self.path = directory + "/" + MD5.hexadecimal(of: Array(uri.utf8)) + ".png"
    let facts = [("URI", uri), ("MTime", String(status.st_mtim.tv_sec)), ("Size", String(status.st_size))]
    texts = facts.map { Array("Thumb::\($0)\0\($1)".utf8) }
  }

  /// Whether the thumbnail is there, of this file as it is now; other programs may have left out its size.
  var isCurrent: Bool {
    guard let file = try? FileDescriptor(opening: path, O_RDONLY), let png = try? file.front(Self.mostLooked, of: path)
    else { return false }
    var found: [ArraySlice<UInt8>] = []
    var place = 8
    while place + 8 <= png.count, !png[(place + 4)..<(place + 8)].elementsEqual("IDAT".utf8) {
      let end = place + 8 + png[place..<(place + 4)].reduce(0) { $0 << 8 | Int($1) }
      if end <= png.count, png[(place + 4)..<(place + 8)].elementsEqual("tEXt".utf8) {
        found.append(png[(place + 8)..<end])
      }
      place = end + 4
    }
    return texts.prefix(2).allSatisfy { text in found.contains { $0.elementsEqual(text) } }
  }

  /// Puts a PNG in its place, complete and for this user alone.
  func write(_ picture: borrowing FileDescriptor) throws(SystemFailure) {
    var png: [UInt8] = []
    try OutputFile.read(picture) { bytes in png += bytes }
    let chunks = texts.flatMap { Self.chunk("tEXt", $0) }
    let bytes = png.prefix(Self.head) + chunks + png.dropFirst(Self.head)
    try NewFile(beside: path, mode: 0o600).fill(with: Array(bytes)).replace(path)
  }

  private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    let body = Array(name.utf8) + content
    return bytes(UInt32(content.count)) + body + bytes(checksum(body))
  }

  private static func bytes(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  /// The CRC-32 of PNG.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { bits, _ in bits >> 1 ^ (bits & 1) &* 0xEDB8_8320 }
    }
  }

  /// The URI of a path, in the spelling of GLib, by which file managers look for a thumbnail. Links are not followed,
  /// since the user sees the name of the link.
  static func uri(of path: String) throws(SystemFailure) -> String {
    var names: [Substring] = []
    for name in (path.hasPrefix("/") ? path : try currentDirectory() + "/" + path).split(separator: "/") {
      if name == ".." { _ = names.popLast() } else if name != "." { names.append(name) }
    }
    var uri = Array("file:///".utf8)
    for byte in names.joined(separator: "/").utf8 {
      let isPlain = (byte | 0x20) &- UInt8(ascii: "a") < 26 || "0123456789!$&'()*+,-./:=@_~".utf8.contains(byte)
      if isPlain { uri.append(byte) } else { PercentEncoding.append(byte, to: &uri) }
    }
    return String(decoding: uri, as: UTF8.self)
  }

  private static func currentDirectory() throws(SystemFailure) -> String {
    // The text is the caller's, and is freed when it has been copied.
    guard let text = unsafe getcwd(nil, 0) else { throw SystemFailure("getcwd") }
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }
}
