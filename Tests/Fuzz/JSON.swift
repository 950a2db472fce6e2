@testable import ImgdWire

extension FuzzTarget {
  /// Any bytes are a value that reads the same after it was written, or no value. Python's `json` is the oracle.
  static let json = FuzzTarget(
    "json", of: ["ImgdWire/JSON"], longest: 256, show: showValue
  ) { bytes in
    let lenient = try? JSONValue(parsing: bytes.span, refusingDoubleKeys: false)
    guard let value = try? JSONValue(parsing: bytes.span) else {
      if let lenient { expect(hasDoubleKey(lenient), "the reader of answers takes nothing but double keys more") }
      return
    }
    expect(lenient == value, "both readers read the same value")
    expect(!hasDoubleKey(value), "no object has a key twice")
    let text = value.encoded()
    expect(!text.utf8.contains { $0 < 0x20 }, "a value is written on one line")
    let again = (try? JSONValue(parsing: text)).map(Description.of)
    expect(again == Description.of(value), "a value survives being written and read")
    expect((try? JSONValue(parsing: Array(text.utf8.dropLast()).span)) != value, "no beginning of it is the same")
  }

  private static func showValue(_ bytes: [UInt8]) -> String {
    (try? JSONValue(parsing: bytes.span)).map { "yes " + Description.of($0) } ?? "no"
  }

  private static func hasDoubleKey(_ value: JSONValue) -> Bool {
    switch value {
    case .object(let members):
      Set(members.map { Array($0.name.utf8) }).count < members.count || members.contains { hasDoubleKey($0.value) }
    case .array(let items): items.contains(where: hasDoubleKey)
    default: false
    }
  }

  /// A value in a form that leaves nothing to how numbers and texts are written.
  private enum Description {
    static func of(_ value: JSONValue) -> String {
      switch value {
      case .null: "n"
      case .bool(let bool): bool ? "t" : "f"
      case .integer(let integer): "i\(integer)"
      case .number(let number): "d" + String(number.bitPattern, radix: 16)
      case .string(let text): "s" + FuzzKit.hex(text.utf8)
      case .array(let items): "[" + items.map(of).joined(separator: ",") + "]"
      case .object(let members):
        "{" + members.map { FuzzKit.hex($0.name.utf8) + ":" + of($0.value) }.joined(separator: ",") + "}"
      }
    }
  }
}
