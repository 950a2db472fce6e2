import Testing

@testable import ImgdWire

struct ReceiptIDTests {
  static let text = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"

  @Test func `a receipt is read in either case and printed in lower case`() throws {
    let receipt = try #require(ReceiptID(Self.text))
    #expect(receipt == ReceiptID(Self.text.uppercased()))
    #expect(ReceiptID(Self.text.uppercased())?.description == Self.text)
    #expect(Set([receipt, ReceiptID(Self.text.uppercased())]).count == 1)
  }

  @Test(arguments: [
    "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "01890a5d-ac96-774b-bcce-b302099a8057",
  ])
  func `a receipt may be of any version`(text: String) {
    #expect(ReceiptID(text)?.description == text)
  }

  @Test func `a receipt that is cut, lengthened or has a wrong byte is refused`() {
    let bytes = Array(Self.text.utf8)
    for index in bytes.indices {
      #expect(ReceiptID(bytes.span.extracting(0..<index)) == nil)
      for byte in UInt8.min...UInt8.max {
        var changed = bytes
        changed[index] = byte
        let isHyphen = byte == UInt8(ascii: "-")
        let isRight = bytes[index] == UInt8(ascii: "-") ? isHyphen : isDigit(byte)
        let text = String(decoding: changed, as: UTF8.self).lowercased()
        #expect(ReceiptID(changed.span)?.description == (isRight ? text : nil))
      }
    }
    #expect(ReceiptID(Self.text + "0") == nil && ReceiptID("{\(Self.text)}") == nil)
  }

  private func isDigit(_ byte: UInt8) -> Bool {
    byte < 0x80 && Character(UnicodeScalar(byte)).isHexDigit
  }

  @Test func `a random receipt is a version 4 UUID`() {
    #expect(
      ReceiptID.random(using: (.max, .max)).description == "ffffffff-ffff-4fff-bfff-ffffffffffff")
    #expect(
      ReceiptID.random(using: (0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef)).description
        == "01234567-89ab-4def-8123-456789abcdef")
  }
}
