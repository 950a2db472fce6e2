import ImgdTestSupport
import ImgdWire

/// An origin whose pictures have versions, which are written in them.
final class VersionedPictures {
  let origin: OriginServer
  private var newest: [String: Int] = [:]

  init() throws { origin = try OriginServer() }

  /// Adds a picture with version 1; its URL.
  @discardableResult
  func add(_ path: String, host: String? = nil, bytes: Int = 0) -> String {
    sizes[path] = bytes
    publish(path)
    return origin.url(path, host: host)
  }

  private var sizes: [String: Int] = [:]

  /// Replaces a picture by its next version, which is fresh for an hour.
  func publish(_ path: String) {
    let version = version(of: path) + 1
    newest[path] = version
    origin.plan(path, Self.answer(path, version, padding: sizes[path] ?? 0))
  }

  /// The origin's answer with a version; each picture is a group of its own.
  static func answer(_ path: String, _ version: Int, padding: Int = 0) -> OriginAnswer {
    .conditional(
      bytes(path, version, padding: padding), tag: #""\#(version)""#,
      headers: [
        ("Content-Type", "image/png"), ("Cache-Control", "max-age=3600"), ("Cache-Groups", "\"\(path)\""),
      ])
  }

  /// The version that the origin has now.
  func version(of path: String) -> Int { newest[path] ?? 0 }

  /// The version that an answer brings, whose picture must be whole.
  func version(of path: String, in answer: JSONValue) throws -> Int {
    let bytes = try content(of: answer, path)
    let version = (bytes.count > 20 ? Int(bytes[18]) << 8 + Int(bytes[19]) : 0) - Self.bareWidth
    guard version > 0, Self.bytes(path, version, padding: sizes[path] ?? 0) == bytes else {
      throw TestFailure("\(path) is not whole: \(bytes.count) bytes, version \(version)")
    }
    return version
  }

  /// The version of which an answer to `form` was made: forms are as wide as their picture.
  func version(ofFormOf path: String, in answer: JSONValue) throws -> Int {
    let bytes = try content(of: answer, path)
    guard answer["format"]?.string == "webp", bytes.starts(with: "RIFF".utf8), let width = answer["width"]?.integer
    else { throw TestFailure("no form of \(path): \(answer.text)") }
    return Int(width) - Self.bareWidth
  }

  private func content(of answer: JSONValue, _ path: String) throws -> [UInt8] {
    guard answer["ok"] == .bool(true) else { throw TestFailure("\(path): \(answer.text)") }
    guard let data = answer["data"]?.string, let bytes = Base64.decode(data) else {
      throw TestFailure("ask for \(path) with \(Self.inside): \(answer.text)")
    }
    return bytes
  }

  /// What a fetch must say for its version to be read.
  static let inside = #""deliver":"inline""#
  /// The same for a form.
  static let form = inside + #","format":"webp""#

  /// A picture of the width that its version gives it.
  private static func bytes(_ path: String, _ version: Int, padding: Int) -> [UInt8] {
    let picture = TestPicture.png(width: bareWidth + version, height: 8)
    let words = Array("\(path) \(version) ".utf8) + [UInt8](repeating: 0x2e, count: padding)
    return picture.dropLast(12) + TestPicture.pngChunk("paDd", words) + picture.suffix(12)
  }

  private static let bareWidth = 16
}
