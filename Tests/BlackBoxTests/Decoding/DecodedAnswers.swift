import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

// What tests ask of decoders, through the daemon.

extension Stage {
  /// Plans a picture under a path, with a type that fits no picture in particular.
  func offer(_ bytes: [UInt8], at path: String) {
    origin.plan(path, .picture(bytes, type: "application/octet-stream"))
  }

  /// The pixels of what lies under a path.
  func pixels(of path: String, _ fields: String = "") throws -> TestPixels {
    let more = fields.isEmpty ? "" : "," + fields
    let line = try ask(path, #""deliver":"pixels"\#(more)"#)
    guard let shown = line["fds"]?.array?.first, let width = shown["width"]?.integer,
      let height = shown["height"]?.integer, shown["stride"]?.integer == width * 4,
      let descriptor = client.takeDescriptor()
    else { throw TestFailure("no pixels of \(path): \(line.text)") }
    defer { close(descriptor) }
    let bytes = contents(of: descriptor)
    guard bytes.count == width * height * 4, shown["bytes"]?.integer == Int64(bytes.count) else {
      throw TestFailure("\(bytes.count) bytes came with \(line.text)")
    }
    return TestPixels(width: Int(width), height: Int(height), bytes: bytes)
  }

  /// The pixels of a picture that has not been asked for before.
  func pixels(of bytes: [UInt8], at path: String) throws -> TestPixels {
    offer(bytes, at: path)
    return try pixels(of: path)
  }

  /// The bytes of what is made of a picture by these fields, with its line.
  func variant(
    of path: String, _ fields: String
  ) throws -> (bytes: [UInt8], line: JSONValue) {
    let line = try ask(path, #""deliver":"inline",\#(fields)"#)
    guard let data = line["data"]?.string, let bytes = Base64.decode(data) else {
      throw TestFailure("nothing is made of \(path) by \(fields): \(line.text)")
    }
    return (bytes, line)
  }

  /// The same picture in another format.
  func converted(
    _ pixels: TestPixels, to format: String, quality: Int? = nil, at path: String
  ) throws -> [UInt8] {
    offer(TestPicture.png(pixels), at: path)
    let quality = quality.map { #","quality":\#($0)"# } ?? ""
    let (bytes, line) = try variant(of: path, #""format":"\#(format)"\#(quality)"#)
    #expect(line["format"]?.string == format)
    return bytes
  }
}

extension [UInt8] {
  /// Whether a text is in these bytes.
  func holds(_ text: String) -> Bool {
    let wanted = Array(text.utf8)
    guard count >= wanted.count else { return false }
    return (0...count - wanted.count).contains {
      self[$0] == wanted[0] && self[$0...].starts(with: wanted)
    }
  }
}
