import Glibc

@testable import ImgdCache
@testable import ImgdDaemon
@testable import ImgdPicture
@testable import ImgdSystem
@testable import ImgdWire

extension FuzzTarget {
  /// Pictures that clients hand in: the fields of `put`, base64 against a second decoder, and bytes behind a descriptor.
  static let put = FuzzTarget(
    "put",
    of: [
      "ImgdSystem/Program/ForeignText.swift", "ImgdSystem/Files/HandedFile.swift",
      "ImgdDaemon/Core/Handed/HandedBytes.swift", "ImgdWire/JSON/WireBytes.swift",
    ], longest: 256
  ) { bytes in
    var choices = Choices(bytes)
    let (style, rest) = (choices.byte(), Array(choices.rest))
    var letters: [UInt8] = []
    letters.append(base64: rest.span)
    expect(letters == PlainBase64.text(rest), "two encoders write the same letters")
    expect(Base64Decoder.bytes(String(decoding: letters, as: UTF8.self)) == rest, "which stand for the bytes")
    let text = String(decoding: rest, as: UTF8.self)
    let decoded = Base64Decoder.bytes(text)
    expect(decoded == PlainBase64.bytes(Array(text.utf8)), "two decoders read the same bytes")
    checkFile(HandedFile(.base64(text)), decoded ?? [], isReadable: decoded != nil)
    if style & 15 == 0 { checkDescriptor(rest) }
    checkLine(rest, letters)
  }

  private static let most = 128

  private static func checkFile(_ file: HandedFile, _ bytes: [UInt8], isReadable: Bool) {
    let work = HandedBytes.Work(serial: 1, file: file, limit: most)
    guard let outcome = HandedBytes.copy(work) else { fatalError("a copy has an outcome") }
    switch outcome {
    case .failure(let error): expect(!error.message.isEmpty, "a refusal has its reason")
    case .success(let picture):
      expect(isReadable && (1...most).contains(bytes.count), "what is taken is neither empty nor too large")
      expect(picture.payload.bytes == bytes, "and is what was handed in")
      expect((try? PictureProbe.recognise(bytes.span)) == picture.measures, "a picture")
      expect(picture.url.isHandedIn, "under a URL that no origin has")
    }
  }

  private static func checkDescriptor(_ bytes: [UInt8]) {
    guard let memory = try? Payload(bytes).shareable().openReadOnly() else { return }
    let number = dup(memory.number)
    checkFile(HandedFile(.descriptor(number: number)), bytes, isReadable: true)
    expect(fcntl(number, F_GETFD) == -1, "what was handed in is closed")
  }

  /// The bytes as a field of a line, and as all that follows `put`.
  private static func checkLine(_ bytes: [UInt8], _ letters: [UInt8]) {
    let front = Array(#"{"cmd":"put","url":"http://a/b","data":""#.utf8)
    let line = front + letters + Array(#""}"#.utf8)
    guard case .request(.put(let put)) = RequestParser.parse(line.span).outcome else {
      return expect(letters.isEmpty, "what is encoded is taken")
    }
    expect(put.data.map { Array($0.utf8) } == letters, "as it was sent")
    let other = Array(#"{"cmd":"put","#.utf8) + bytes
    guard case .request(.put(let request)) = RequestParser.parse(other.span).outcome else { return }
    let again = RequestParser.parse(Request.put(request).line().span)
    guard case .request(.put(request)) = again.outcome else { fatalError("a put survives being written") }
  }

  /// RFC 4648, section 4, by strings of bits.
  private enum PlainBase64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func text(_ bytes: [UInt8]) -> [UInt8] {
      var text: [UInt8] = []
      for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        let word = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
        for place in 0..<4 {
          text.append(place <= group.count ? alphabet[word >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
        }
      }
      return text
    }

    static func bytes(_ text: [UInt8]) -> [UInt8]? {
      guard text.count % 4 == 0 else { return nil }
      var core = text
      while text.count - core.count < 2, core.last == UInt8(ascii: "=") { core.removeLast() }
      var bytes: [UInt8] = []
      for start in stride(from: 0, to: core.count, by: 4) {
        var word = 0
        let group = core[start..<min(start + 4, core.count)]
        for letter in group {
          guard let value = alphabet.firstIndex(of: letter) else { return nil }
          word = word << 6 | value
        }
        word <<= 6 * (4 - group.count)
        bytes += (0..<max(0, group.count - 1)).map { UInt8(word >> (16 - 8 * $0) & 255) }
      }
      // One spelling for each: the bits that stand for nothing are zero.
      return self.text(bytes) == text ? bytes : nil
    }
  }
}
