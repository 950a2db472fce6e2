import Glibc
import ImgdTestSupport
import ImgdWire

/// Whether an answer brings the picture that was asked for: whole, and no older than it may be.
struct Verdict {
  let gallery: Gallery
  let ledger: Ledger

  /// What was asked for, and what held when it was.
  struct Question {
    let number: Int
    /// No older version may be shown; 1 where other hosts purge.
    let oldest: Int
    let form: Form
  }

  enum Form: String, CaseIterable {
    case path, inline, descriptor, pixels, webp, small

    /// The fields of `fetch` that ask for it.
    var fields: String {
      switch self {
      case .path: ""
      case .inline: #","deliver":"inline""#
      case .descriptor: #","deliver":"fd""#
      case .pixels: #","deliver":"pixels""#
      case .webp: #","deliver":"inline","format":"webp""#
      case .small: #","deliver":"none","resize":{"width":10,"height":10,"fit":"cover"},"format":"jpeg""#
      }
    }
  }

  /// `content` are the bytes that the answer came with, in whatever way.
  func judge(_ answer: JSONValue, to question: Question, _ content: [UInt8]?) {
    switch question.form {
    case .path:
      // Where there is no file the answer says why.
      if let content { judge(bytes: content, question, answer.text) }
    case .inline, .descriptor: judge(bytes: content ?? [], question, answer.text)
    case .pixels: judge(pixels: content ?? [], question, answer)
    case .webp: judge(webp: content ?? [], question, answer)
    case .small:
      // Nothing is made larger.
      let height = min(10, Gallery.size(question.number, 0).height)
      if answer["width"]?.integer != 10 || answer["height"]?.integer != Int64(height) {
        ledger.wrong("a form of another size: \(answer.text)")
      }
    }
  }

  /// The picture as its origin sends it; `answer` is what it came with, in words.
  func judge(bytes: [UInt8], _ question: Question, _ answer: String) {
    guard bytes.count > 24 else { return torn(question, bytes.count, answer) }
    let width = Int(bytes[18]) << 8 + Int(bytes[19])
    let newest = gallery.newest(question.number)
    let version = Gallery.versions(ofWidth: width, newest: newest).first { gallery.bytes(question.number, $0) == bytes }
    guard let version else { return torn(question, bytes.count, answer) }
    judge(version: version, question, answer)
  }

  private func judge(pixels: [UInt8], _ question: Question, _ answer: JSONValue) {
    guard let width = answer["width"]?.integer, let height = answer["height"]?.integer,
      pixels.count == width * height * 4, let first = pixels.first
    else { return torn(question, pixels.count, answer.text) }
    let version = Gallery.versions(ofWidth: Int(width), newest: gallery.newest(question.number)).first ?? 0
    let grey = Gallery.grey(question.number, version)
    let isWhole = pixels.indices.allSatisfy { pixels[$0] == ($0 % 4 == 3 ? 255 : grey) }
    guard Int(height) == Gallery.size(question.number, version).height, first == grey, isWhole else {
      return torn(question, pixels.count, answer.text)
    }
    judge(version: version, question, answer.text)
  }

  private func judge(webp bytes: [UInt8], _ question: Question, _ answer: JSONValue) {
    let length = bytes.count > 12 ? (0..<4).reduce(0) { $0 | Int(bytes[4 + $1]) << ($1 * 8) } : 0
    guard bytes.starts(with: "RIFF".utf8), length + 8 == bytes.count, let width = answer["width"]?.integer,
      Int(answer["height"]?.integer ?? 0) == Gallery.size(question.number, 0).height
    else { return torn(question, bytes.count, answer.text) }
    let newest = gallery.newest(question.number)
    judge(version: Gallery.versions(ofWidth: Int(width), newest: newest).first ?? 0, question, answer.text)
  }

  private func judge(version: Int, _ question: Question, _ answer: String) {
    if version >= question.oldest { return }
    ledger.wrong(
      "version \(version) of picture \(question.number) as \(question.form), purged up to \(question.oldest): "
        + answer.prefix(300) + gallery.diary.page(of: question.number))
  }

  private func torn(_ question: Question, _ count: Int, _ answer: String) {
    ledger.wrong("not picture \(question.number) as \(question.form), but \(count) bytes: \(answer.prefix(300))")
  }
}
