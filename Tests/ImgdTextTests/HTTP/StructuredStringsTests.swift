import ImgdTestSupport
import ImgdText
import Testing

/// Lists of strings (RFC 9651), as `Cache-Groups` is one (RFC 9875).
struct StructuredStringsTests {
  @Test(
    arguments: [
      // The examples of RFC 9875 and of RFC 9651.
      (#""scripts""#, ["scripts"]),
      (#""eurovision-results", "australia""#, ["eurovision-results", "australia"]),
      (#""foo", "bar", "It was the best of times.""#, ["foo", "bar", "It was the best of times."]),
      // Joined from several lines, with blanks of either kind around the commas.
      ("  \"a\" ,\t\"b\",\"c\"  ", ["a", "b", "c"]), ("", []), ("   ", []), (#""""#, [""]),
      (#""a\"b\\c", "d,e;f""#, [#"a"b\c"#, "d,e;f"]),
      // Parameters mean nothing.
      (#""a";b, "c"; d=1;e="x,y""#, ["a", "c"]),
      (#""a";i=-15;d=-1.5;t=*x/y:z;b=:cGE=:;f=?0;at=@-1;w=%"f%c3%bc"; *k_-.*1"#, ["a"]),
      (#""a";i=999999999999999;d=123456789012.123"#, ["a"]),
    ])
  func `a list of strings is read, without its parameters`(text: String, strings: [String]) {
    #expect(StructuredStrings.list(text) == strings)
  }

  @Test(arguments: [
    "a", "\"a", "a\"", "\"a\" \"b\"", "\"a\",", "\"a\", ", ",\"a\"", "\"a\",,\"b\"", "\"a\";", "\"a\";B=1", "\"a\";b=",
    "\"a\" ;b", "\"a\\b\"", "\"a\\", "\"\u{E4}\"", "\"a\tb\"", "\"a\u{7F}\"", "\"a\u{0}\"", "\t\"a\"", "'a'", "1", "?1",
    "(\"a\")", "\"a\", b", "\"a\", 1", "\"a\";b=?2", "\"a\";b=:x", "\"a\";b=1.", "\"a\";b=1.2345", "\"a\";b=--1",
    "\"a\";b=1234567890123456", "\"a\";b=1234567890123.1", "\"a\";b=@1.5", "\"a\";b=%x", "\"a\";b=()", "\"a\"x",
  ])
  func `what breaks the rules anywhere is no list`(text: String) {
    #expect(StructuredStrings.list(text) == nil)
  }

  @Test func `any bytes are read to their end`() {
    var random = SeededGenerator(seed: 11)
    let signs = Array(#"a"b\,; =1.-?:@%*()"#.unicodeScalars) + ["\t", "\u{0}", "\u{FFFD}"]
    for _ in 0..<20_000 {
      let count = Int.random(in: 0...12, using: &random)
      var text = String.UnicodeScalarView()
      for _ in 0..<count { text.append(signs.randomElement(using: &random) ?? "a") }
      guard let strings = StructuredStrings.list(String(text)) else { continue }
      // What was read is written in one way, which is read as the same.
      let written = strings.map { string in
        "\"" + string.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
      }
      #expect(StructuredStrings.list(written.joined(separator: ", ")) == strings)
    }
  }
}
