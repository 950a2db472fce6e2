import Testing

@testable import ImgdWire

struct JSONValueTests {
  static let samples: [JSONValue] = [
    .null, true, false, 0, .integer(.min), .integer(.max), .number(1.7), .number(-1e-9),
    .number(1e300), .number(.leastNonzeroMagnitude), .number(.greatestFiniteMagnitude), "", "é😀",
    "\"\\/\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}\u{7f}\u{2028}", [], [:], [1, "two", [.null]],
    ["a": ["b": [true, ["c": .number(2.5)]]], "": [], "\n": "x"],
  ]

  @Test(arguments: samples)
  func `a JSON value reads back from its text`(value: JSONValue) throws {
    #expect(try JSONValue(parsing: value.encoded()) == value)
    #expect(!value.encoded().utf8.contains { $0 < 0x20 })
  }

  @Test func `a JSON value is written without blanks`() {
    let value: JSONValue = ["a": [1, [:]], "b": []]
    #expect(value.encoded() == #"{"a":[1,{}],"b":[]}"#)
  }

  @Test func `a JSON value returns its content by type, and nil for other types`() {
    let value: JSONValue = ["s": "x", "i": 3, "d": .number(2), "b": true, "a": [1], "n": .null]
    #expect(value["s"]?.string == "x" && value["s"]?.integer == nil)
    #expect(value["i"]?.integer == 3 && value["i"]?.double == 3 && value["i"]?.bool == nil)
    #expect(value["d"]?.integer == 2 && value["d"]?.double == 2)
    #expect(value["b"]?.bool == true && value["b"]?.string == nil)
    #expect(value["a"]?.array == [1] && value["a"]?[0] == 1 && value["a"]?[1] == nil)
    #expect(value["n"] == .null && value["missing"] == nil && value[0] == nil)
    #expect(value["a"]?[-1] == nil && value["a"]?["x"] == nil && value.object?.count == 6)
    #expect(JSONValue.number(0.5).integer == nil && JSONValue.number(1e300).integer == nil)
  }
}
