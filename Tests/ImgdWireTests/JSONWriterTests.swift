import Testing

@testable import ImgdWire

struct JSONWriterTests {
  private func text(_ write: (inout JSONWriter) -> Void) -> String {
    var writer = JSONWriter()
    write(&writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  @Test func `the JSON writer sets the commas itself, at every depth`() {
    let text = text { json in
      json.beginObject()
      json.field("a", 1)
      json.beginObject("b")
      json.endObject()
      json.beginArray("c")
      json.value(1)
      json.beginArray()
      json.endArray()
      json.beginObject()
      json.field("d", true)
      json.field("e", false)
      json.endObject()
      json.null()
      json.endArray()
      json.fieldNull("f")
      json.endObject()
      json.newline()
      json.beginObject()
      json.endObject()
    }
    #expect(text == #"{"a":1,"b":{},"c":[1,[],{"d":true,"e":false},null],"f":null}"# + "\n{}")
  }

  @Test func `the JSON writer writes every kind of field`() {
    let receipt = ReceiptID.random(using: (0, 0))
    let text = text { json in
      json.beginObject()
      json.field("s", "x")
      json.field("none", String?.none)
      json.field("some", Optional("y"))
      json.field("n", Int?.none)
      json.field("min", Int.min)
      json.field("data", base64: [UInt8]([1, 2, 3]).span)
      json.field("receipt", receipt)
      json.field("elapsed_ms", millisecondsOf: 1799)
      json.name("v")
      json.value(["k": [1]] as JSONValue)
      json.endObject()
    }
    #expect(
      text == """
        {"s":"x","none":null,"some":"y","n":null,"min":-9223372036854775808,\
        "data":"AQID",\
        "receipt":"00000000-0000-4000-8000-000000000000","elapsed_ms":1.7,\
        "v":{"k":[1]}}
        """)
  }

  @Test func `the JSON writer appends to the bytes that are there`() {
    var writer = JSONWriter(appendingTo: Array("x".utf8))
    writer.value(1)
    #expect(writer.bytes == Array("x1".utf8))
  }

  @Test func `the JSON writer writes numbers that are not finite as null`() {
    let text = text { json in
      json.beginArray()
      for number in [1.7, .infinity, .nan] { json.value(number) }
      json.endArray()
    }
    #expect(text == "[1.7,null,null]")
  }

  /// What is not shown but does something: controls, marks of direction, separators, what has no width.
  private static let hidden: [ClosedRange<UInt32>] = [
    0x01...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x61C...0x61C, 0x180E...0x180E, 0x200B...0x200F,
    0x2028...0x202E, 0x2060...0x206F, 0xFEFF...0xFEFF, 0xFFF9...0xFFFB, 0xE0000...0xE007F,
  ]

  @Test func `the JSON writer escapes exactly what must be escaped`() throws {
    for scalar in [1...0xFFFF, 0xDFF00...0xE0200].joined().compactMap(Unicode.Scalar.init) {
      let string = "<\(Character(scalar))>"
      let escaped = Array(text { $0.value(string) }.utf8)
      #expect(try JSONValue(parsing: escaped.span) == .string(string))
      let isHidden = Self.hidden.contains { $0.contains(scalar.value) }
      let needs = isHidden || scalar == "\"" || scalar == "\\"
      #expect(escaped.contains(UInt8(ascii: "\\")) == needs, "U+\(String(scalar.value, radix: 16))")
    }
    #expect(text { $0.value("\u{1}\u{1f}\u{7f}\n") } == #""\u0001\u001f\u007f\n""#)
    #expect(text { $0.value("\u{9b}\u{202e}\u{e0041}") } == #""\u009b\u202e\udb40\udc41""#)
  }

  /// Text is looked at eight bytes at a time.
  @Test func `the JSON writer escapes at every place of a text`() throws {
    for length in 0..<20 {
      for place in 0...length {
        for (character, escape) in [
          ("\u{7f}", #"\u007f"#), ("\"", #"\""#), ("\u{202e}", #"\u202e"#), ("é", "é"),
        ] {
          let before = String(repeating: "a", count: place)
          let after = String(repeating: "b", count: length - place)
          let written = text { $0.value(before + character + after) }
          #expect(written == "\"" + before + escape + after + "\"")
        }
      }
    }
  }

  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
    ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"), ("\u{0}~\u{3ff}?", "AH7Pvz8="),
  ])
  func `the JSON writer writes base64 with its padding`(plain: String, encoded: String) {
    let bytes = Array(plain.utf8)
    #expect(text { $0.value(base64: bytes.span) } == "\"\(encoded)\"")
  }

  @Test func `the JSON writer uses all 64 letters of base64 in their places`() {
    let bytes: [UInt8] = (0..<16).flatMap { index -> [UInt8] in
      let group = (0..<4).reduce(0) { $0 << 6 | (index * 4 + $1) }
      return [UInt8(group >> 16), UInt8(group >> 8 & 255), UInt8(group & 255)]
    }
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    #expect(text { $0.value(base64: bytes.span) } == "\"\(letters)\"")
  }

  @Test(arguments: 0...200)
  func `the JSON writer writes base64 of any length bit by bit`(count: Int) {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 151 + count * 29) }
    var bits = bytes.flatMap { (byte: UInt8) -> [Int] in (0..<8).map { Int(byte >> (7 - $0) & 1) } }
    bits += [0, 0, 0, 0]
    var encoded = stride(from: 0, to: count * 8, by: 6).map { place in
      letters[bits[place..<place + 6].reduce(0) { $0 * 2 + $1 }]
    }
    while encoded.count % 4 != 0 { encoded.append("=") }
    #expect(text { $0.value(base64: bytes.span) } == "\"\(String(encoded))\"")
  }

  @Test func `the JSON writer writes numbers at their limits`() {
    for number in [0, 9, 10, 99, 100, -1, -10, Int64.max, .min] {
      var bytes: [UInt8] = []
      bytes.appendInteger(number)
      #expect(String(decoding: bytes, as: UTF8.self) == "\(number)")
    }
    for (microseconds, text) in [(0, "0.0"), (99, "0.0"), (100, "0.1"), (1_234_567, "1234.5")] {
      var bytes: [UInt8] = []
      bytes.appendMilliseconds(microseconds: UInt64(microseconds))
      #expect(String(decoding: bytes, as: UTF8.self) == text)
    }
  }
}
