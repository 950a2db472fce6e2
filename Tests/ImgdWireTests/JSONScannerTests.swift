import Testing

@testable import ImgdWire

struct JSONScannerTests {
  static let valid: [(String, JSONValue)] = [
    ("null", .null), ("true", true), (" false\t\r\n", false),
    ("0", 0), ("-0", 0), ("7", 7), ("-12", -12),
    ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
    ("9223372036854775808", .number(9_223_372_036_854_775_808)),
    ("-9223372036854775809", .number(-9_223_372_036_854_775_808)),
    ("1.5", .number(1.5)), ("-0.0", .number(-0.0)), ("1e3", .number(1000)),
    ("1E+2", .number(100)), ("25e-1", .number(2.5)), ("0e0", .number(0)),
    ("1e-999", .number(0)), ("0.000000000000000000000000001", .number(1e-27)),
    (String(repeating: "9", count: 300), .number(1e300)), ("1e0", .number(1)),
    (#""""#, ""), (#""a""#, "a"), (#"" a b ""#, " a b "),
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
    (#""\u0041\u00e9\u20AC""#, "Aé€"), (#""\ud83d\ude00""#, "😀"),
    (#""\uDBFF\uDFFF""#, "\u{10FFFF}"), (#""\u0000""#, "\0"),
    (#"["a\u0000b",{"\u0000":0}]"#, ["a\0b", ["\0": 0]]),
    (#""\uE000\uFFFF""#, "\u{E000}\u{FFFF}"),
    ("\"é€😀\"", "é€😀"),
    (
      "\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\"",
      "\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}"
    ),
    ("\"\u{2028}\u{2029}\u{FEFF}\"", "\u{2028}\u{2029}\u{FEFF}"),
    ("[]", []), ("[ ]", []), ("[1]", [1]), ("[1,[2,[]],{}]", [1, [2, []], [:]]),
    ("{}", [:]), (" { } ", [:]), (#"{"a":1}"#, ["a": 1]), (#"{"":0}"#, ["": 0]),
    (#"{ "a" : [ true , null ] , "b" : { } }"#, ["a": [true, .null], "b": [:]]),
    (#"{"a":{"a":{"a":1}}}"#, ["a": ["a": ["a": 1]]]),
    // Two spellings that are equal as Swift strings are two keys.
    ("{\"\u{e9}\":1,\"e\u{301}\":2}", ["\u{e9}": 1, "e\u{301}": 2]),
  ]

  static let invalid: [(String, JSONSyntaxError.Expectation)] = [
    ("", .value), (" ", .value), ("nul", .literal), ("nulL", .literal), ("True", .value),
    ("tru", .literal), ("falsey", .end), ("NaN", .value), ("Infinity", .value),
    ("undefined", .value),
    ("+1", .value), ("-", .digit), ("--1", .digit), ("01", .noLeadingZero), ("-01", .noLeadingZero),
    ("00", .noLeadingZero), ("1.", .digit), (".5", .value), ("1.e3", .digit), ("1e", .digit),
    ("1e+", .digit), ("1e1.5", .end), ("0x10", .end), ("1_000", .end), ("1 2", .end),
    ("-a", .digit), ("1e400", .finite), ("-1e400", .finite),
    (String(repeating: "9", count: 400), .finite),
    ("\"", .closingQuote), ("\"abc", .closingQuote), ("'a'", .value), ("\"\\\"", .closingQuote),
    ("\"\\", .escape), (#""\x""#, .escape), (#""\'""#, .escape), (#""\0""#, .escape),
    (#""\u""#, .hexadecimal), (#""\u12""#, .hexadecimal), (#""\u12G4""#, .hexadecimal),
    (#""\U0041""#, .escape), (#""\u 041""#, .hexadecimal), (#""\u000""#, .hexadecimal),
    (#""\ud800""#, .surrogatePair), (#""\udc00""#, .surrogatePair),
    (#""\ud800\ud800""#, .surrogatePair), (#""\ud800x""#, .surrogatePair),
    (#""\ude00\ud83d""#, .surrogatePair), (#""\ud83d\u""#, .surrogatePair),
    ("\"\t\"", .noControl), ("\"\n\"", .noControl), ("\"\u{1f}\"", .noControl),
    ("\"\0\"", .noControl),
    ("\0", .value), ("\u{FEFF}1", .value), ("\u{A0}1", .value), ("\u{0C}1", .value),
    ("[", .value), ("[1", .commaOrBracket), ("[1,", .value), ("[1,]", .value), ("[,1]", .value),
    ("[1 2]", .commaOrBracket), ("[1}", .commaOrBracket), ("]", .value), ("[]]", .end),
    ("{", .key), ("{1:2}", .key), ("{a:1}", .key), (#"{"a"}"#, .colon), (#"{"a" 1}"#, .colon),
    (#"{"a":}"#, .value), (#"{"a":1"#, .commaOrBrace), (#"{"a":1,}"#, .key), (#"{,"a":1}"#, .key),
    (#"{"a":1 "b":2}"#, .commaOrBrace), (#"{"a":1]"#, .commaOrBrace), (#"{"a"::1}"#, .value),
    (#"{"a":1}}"#, .end), (#"{"a":1}{"#, .end), (#"{"a":1}/**/"#, .end), ("// x\n1", .value),
    (#"{"a":1,"a":2}"#, .otherKey), (#"{"a":1,"\u0061":2}"#, .otherKey),
    (#"[{"b":{"x":1,"y":2,"x":3}}]"#, .otherKey),
  ]

  /// Byte sequences that are not UTF-8, each inserted into a string.
  static let malformed: [[UInt8]] = [
    [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x41], [0xE0, 0x80, 0x80],
    [0xE0, 0x9F, 0xBF], [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28], [0xED, 0xA0, 0x80],
    [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98],
    [0xF0, 0x9F, 0x28, 0x80], [0xF0, 0x9F, 0x98, 0x28], [0xF4, 0x90, 0x80, 0x80],
    [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xF8, 0x88, 0x80, 0x80, 0x80],
  ]

  @Test(arguments: valid)
  func `a JSON text is read as the value that it states`(text: String, value: JSONValue) throws {
    #expect(try JSONValue(parsing: text) == value)
  }

  @Test(arguments: invalid)
  func `a JSON text that breaks the grammar is refused for the right reason`(
    text: String, expected: JSONSyntaxError.Expectation
  ) {
    let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: text) }
    #expect(error?.expected == expected)
    #expect((0...text.utf8.count).contains(error?.offset ?? -1))
  }

  @Test(arguments: malformed)
  func `a JSON text with malformed UTF-8 is refused where that begins`(bytes: [UInt8]) {
    let text = Array("[\"é".utf8) + bytes + Array("\"]".utf8)
    #expect(throws: JSONSyntaxError(offset: 4, expected: .utf8)) {
      try JSONValue(parsing: text.span)
    }
  }

  @Test func `the failure of a JSON text names the wrong byte`() {
    #expect(throws: JSONSyntaxError(offset: 6, expected: .value)) {
      try JSONValue(parsing: #"{"a": ]}"#)
    }
    #expect(throws: JSONSyntaxError(offset: 7, expected: .otherKey)) {
      try JSONValue(parsing: #"{"a":1,"a":2}"#)
    }
  }

  @Test func `a JSON text cut anywhere never traps, and a cut container is never accepted`() {
    for text in Self.valid.map(\.0) + Self.invalid.map(\.0) {
      let bytes = Array(text.utf8)
      for end in 0..<bytes.count {
        let isRead = (try? JSONValue(parsing: bytes.span.extracting(0..<end))) != nil
        let isContainer = bytes[0] == UInt8(ascii: "{") || bytes[0] == UInt8(ascii: "[")
        let isWhole = (try? JSONValue(parsing: text)) != nil
        #expect(!(isRead && isContainer && isWhole && bytes[end...].contains { $0 > 0x20 }))
      }
    }
  }

  @Test func `a JSON text may nest sixteen levels and no more`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    _ = try JSONValue(parsing: nested(16))
    #expect(throws: JSONSyntaxError(offset: 16, expected: .shallower)) {
      try JSONValue(parsing: nested(17))
    }
    let objects = String(repeating: #"{"a":"#, count: 60_000)
    #expect(throws: JSONSyntaxError(offset: 80, expected: .shallower)) {
      try JSONValue(parsing: objects)
    }
  }

  @Test func `a repeated key is found among thousands`() throws {
    let members = (0..<8000).map { "\"k\($0)\":0" }.joined(separator: ",")
    #expect(try JSONValue(parsing: "{\(members)}").object?.count == 8000)
    for repeated in [0, 7, 8, 9, 7999] {
      let error = #expect(throws: JSONSyntaxError.self) {
        try JSONValue(parsing: "{\(members),\"k\(repeated)\":1}")
      }
      #expect(error?.expected == .otherKey)
    }
  }
}
