import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Asks a daemon for pixels and other forms of pictures that are not what they should be, many at once, and
/// expects one answer for each of them.
final class Damage {
  /// What may become of a damaged picture, beside a picture.
  static let codes: Set = [
    "not_an_image", "empty_body", "unsupported_format", "too_many_pixels", "decode_failed",
    "decode_crashed",
  ]

  private static let forms = [
    #""deliver":"pixels""#, #""deliver":"none","resize":{"width":9}"#,
    #""deliver":"none","format":"webp","resize":{"width":7,"height":7,"fit":"cover"}"#,
    #""deliver":"none","describe":true"#,
  ]

  private let stage: Stage
  private let witness: TestClient
  private let pid: pid_t
  private var last = 0
  /// How often each code was the answer; `ok` for pictures.
  private(set) var outcomes: [String: Int] = [:]

  init(_ stage: Stage) throws {
    self.stage = stage
    witness = try stage.connect()
    pid = stage.daemon.pid
    stage.offer(TestPicture.png(.plain([1, 2, 3, 255])), at: "/witness")
    _ = try stage.ask("/witness", #""deliver":"none""#)
  }

  /// Offers each picture, and asks for it in one of the forms.
  func serve(_ pictures: [[UInt8]]) throws {
    for start in stride(from: 0, to: pictures.count, by: 32) {
      try serveAtOnce(pictures[start..<min(start + 32, pictures.count)])
      #expect(try stage.ask("/witness", on: witness)["source"]?.string == "memory")
    }
    #expect(stage.daemon.pid == pid && stage.daemon.isRunning)
  }

  private func serveAtOnce(_ pictures: ArraySlice<[UInt8]>) throws {
    let numbers = pictures.map { picture in
      last += 1
      stage.offer(picture, at: "/\(last)")
      return last
    }
    for number in numbers {
      let form = Self.forms[number % Self.forms.count]
      try stage.client.send(
        #"{"cmd":"fetch","id":\#(number),"url":"\#(stage.base)/\#(number)",\#(form)}"#)
    }
    try stage.client.send(#"{"cmd":"ping","id":"last"}"#)
    var answered: [Int64] = []
    for _ in 0...numbers.count {
      let line = try stage.client.receive()
      if line["id"]?.string == "last" { continue }
      answered.append(line["id"]?.integer ?? -1)
      note(line)
    }
    #expect(answered.sorted() == numbers.map(Int64.init))
    while let descriptor = stage.client.takeDescriptor() { close(descriptor) }
  }

  private func note(_ line: JSONValue) {
    let code = line["ok"] == true ? "ok" : line.failureCode ?? "nothing"
    outcomes[code, default: 0] += 1
    #expect(code == "ok" || Self.codes.contains(code), "\(line.text)")
    #expect(code == "ok" || !line.failureMessage.isEmpty)
  }
}

/// Pictures with content, in the formats that strangers send.
enum SoundPictures {
  static let formats = ["jpeg", "png", "webp", "avif", "gif", "bmp", "ico", "tiff"]

  /// One of a few hundred bytes to a few thousand.
  static func make(_ format: String, on stage: Stage) throws -> [UInt8] {
    let pixels = TestPixels.gradient(width: 40, height: 30)
    switch format {
    case "png": return TestPicture.png(TestPixels.gradient(width: 20, height: 15))
    case "gif":
      return TestPicture.gif(
        width: 12, height: 10, colours: [[9, 200, 9], [200, 9, 9], [9, 9, 9]])
    case "bmp": return TestPicture.bmp(width: 20, height: 15)
    case "ico": return TestPicture.ico(sizes: [16, 8], asPNG: true)
    case "tiff": return TestPicture.tiff(width: 20, height: 15)
    default: return try stage.converted(pixels, to: format, at: "/sound.png")
    }
  }

  /// Some of the bits changed, or bytes left out, or twice there.
  static func damaged(_ picture: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
    var bytes = picture
    for _ in 0..<Int.random(in: 1...6, using: &generator) {
      let place = Int.random(in: 0..<bytes.count, using: &generator)
      switch Int.random(in: 0..<8, using: &generator) {
      case 0: bytes.remove(at: place)
      case 1: bytes.insert(bytes[place], at: place)
      case 2: bytes[place] = [0, 0x7F, 0x80, 0xFF].randomElement(using: &generator) ?? 0
      default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      }
      if bytes.isEmpty { return picture }
    }
    return bytes
  }
}
