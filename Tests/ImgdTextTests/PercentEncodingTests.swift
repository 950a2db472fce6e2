import ImgdText
import Testing

struct PercentEncodingTests {
  @Test(arguments: [
    ("", ""), ("azAZ09-._~", "azAZ09-._~"), ("a b", "a%20b"), ("a%20b", "a%20b"), ("a+b", "a%2Bb"),
    ("é", "%C3%A9"), ("%c3%a9", "%C3%A9"), ("(a)*'!", "%28a%29%2A%27%21"), ("%7e", "~"),
    ("a/b", "a%2Fb"), ("%252F", "%252F"), ("100%", "100%25"), ("%zz%4", "%25zz%254"),
    ("%%41", "%25A"), ("%0a%00", "%0A%00"),
  ])
  func `a text has one spelling`(text: String, spelling: String) {
    #expect(PercentEncoding.oneSpelling(of: text) == spelling)
    #expect(PercentEncoding.oneSpelling(of: spelling) == spelling)
  }

  @Test func `slashes may be kept, however they are written`() {
    #expect(PercentEncoding.oneSpelling(of: "//a%2F../b", keepingSlashes: true) == "//a/../b")
  }

  @Test(arguments: [
    ("", nil), ("a%20b", nil), ("%41%", 3), ("%4", 0), ("a%4g", 1), ("%%41", 0), ("%41%42", nil),
  ])
  func `a percent sign that begins no escape is found`(text: String, offset: Int?) {
    #expect(PercentEncoding.firstBareSign(in: text) == offset)
  }

  @Test(arguments: [
    ("", ""), ("a%20b", "a b"), ("%41%7e+", "A~+"), ("%", "%"), ("%4", "%4"), ("%%41", "%A"), ("%zz%c3%A9", "%zzé"),
  ])
  func `escapes are undone, and what only looks like one stays`(text: String, decoded: String) {
    #expect(PercentEncoding.decoded(Array(text.utf8)[...]) == Array(decoded.utf8))
  }

  @Test func `every byte has a spelling that stands for it`() {
    for byte in UInt8.min...UInt8.max {
      let escape = "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      let spelling = PercentEncoding.oneSpelling(of: escape)
      #expect(spelling.utf8.count == 1 ? spelling.utf8.first == byte : spelling == escape.uppercased())
    }
  }
}
