import Testing

@testable import ImgdWire

@Suite("A receipt")
struct ReceiptIDTests {
  static let text = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"

  @Test("is equal in both cases and printed in lower case")
  func cases() throws {
    let receipt = try #require(ReceiptID(Self.text))
    #expect(receipt == ReceiptID(Self.text.uppercased()))
    #expect(ReceiptID(Self.text.uppercased())?.description == Self.text)
    #expect(Set([receipt, ReceiptID(Self.text.uppercased())]).count == 1)
  }

  @Test(
    "may be of any version",
    arguments: [
      "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
      "01890a5d-ac96-774b-bcce-b302099a8057",
    ])
  func versions(text: String) {
    #expect(ReceiptID(text)?.description == text)
  }

  @Test("cut, lengthened or with any byte replaced by a wrong one is none")
  func refuses() {
    let bytes = Array(Self.text.utf8)
    for index in bytes.indices {
      #expect(ReceiptID(bytes.span.extracting(0..<index)) == nil)
      for wrong in [UInt8(ascii: "g"), UInt8(ascii: " "), 0, 0xFF] {
        var changed = bytes
        changed[index] = wrong
        #expect(ReceiptID(changed.span) == nil)
      }
      var moved = bytes
      moved[index] = bytes[index] == UInt8(ascii: "-") ? UInt8(ascii: "0") : UInt8(ascii: "-")
      #expect(ReceiptID(moved.span) == nil)
    }
    #expect(ReceiptID(Self.text + "0") == nil && ReceiptID("{\(Self.text)}") == nil)
  }

  @Test("made by the daemon is a version 4 UUID that keeps the other random bits")
  func random() {
    #expect(
      ReceiptID.random(using: (.max, .max)).description == "ffffffff-ffff-4fff-bfff-ffffffffffff")
    #expect(
      ReceiptID.random(using: (0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef)).description
        == "01234567-89ab-4def-8123-456789abcdef")
  }
}
