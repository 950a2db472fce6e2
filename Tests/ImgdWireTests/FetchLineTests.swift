import ImgdWire
import Testing

struct FetchLineTests {
  private func line(
    id: RequestID = .none, words: (UInt64, UInt64) = (1, 2), age: Int = 0, freshFor: Int = 0,
    elapsed: Int64 = 0, details: String = "", ending: String = "}\n"
  ) -> (text: String, receipt: ReceiptID) {
    let receipt = ReceiptID.random(using: words)
    var bytes = Array("before".utf8)
    let numbers = FetchLine.Numbers(
      receipt: receipt, age: age, freshFor: freshFor, elapsedNanoseconds: elapsed)
    FetchLine.append(
      to: &bytes, id: id.written.span, numbers, facts: Array(#""url":"http://h/""#.utf8).span,
      details: Array(details.utf8).span, ending: Array(ending.utf8).span)
    return (String(decoding: bytes, as: UTF8.self), receipt)
  }

  @Test func `a line equals that of the general writer`() {
    let ids: [RequestID] =
      [.none, .string(""), .string("a"), .string("\"\\\u{1}é")]
      + [0, 7, -1, .min, .max].map { .integer($0) }
    for id in ids {
      let (text, receipt) = line(id: id, age: 12, freshFor: 3_588, elapsed: 1_749_999)
      var json = JSONWriter()
      ReplyEncoder.begin(id: id, ok: true, into: &json)
      json.field("receipt", receipt)
      json.field("url", "http://h/")
      json.field("age", 12)
      json.field("fresh_for", 3_588)
      json.field("elapsed_ms", millisecondsOf: 1_749)
      ReplyEncoder.end(into: &json)
      #expect(text == "before" + String(decoding: json.bytes, as: UTF8.self))
    }
  }

  @Test func `a line has every receipt as it prints`() {
    var random = SystemRandomNumberGenerator()
    let edges: [UInt64] = [0, .max, 0x0123_4567_89ab_cdef, 0x9999_9999_aaaa_aaaa]
    for round in 0..<2_000 {
      let words = (
        round < 16 ? edges[round / 4] : random.next(), round < 16 ? edges[round % 4] : random.next()
      )
      let (text, receipt) = line(words: words)
      #expect(text.hasPrefix(#"before{"ok":true,"receipt":"\#(receipt)","url""#))
    }
  }

  @Test(arguments: [Int64.min, .max])
  func `a line has room for the longest numbers`(id: Int64) {
    let (text, _) = line(
      id: .integer(id), age: .max, freshFor: .max, elapsed: .max, details: String(repeating: "y", count: 500),
      ending: String(repeating: "x", count: 500))
    #expect(text.hasSuffix(String(repeating: "x", count: 500)))
    #expect(text.contains(#""age":9223372036854775807,"fresh_for":9223372036854775807"#))
    #expect(text.contains(#"36854.7yyyy"#))
  }
}
