import Testing

@testable import ImgdSystem

struct PrintableTests {
  @Test(arguments: [
    0x00...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x61C...0x61C, 0x200B...0x200F, 0x2028...0x202E,
    0x2066...0x2069, 0xFEFF...0xFEFF, 0xFFF9...0xFFFB, 0xE0020...0xE007F,
  ])
  func `what controls a terminal or hides in text is not printed`(scalars: ClosedRange<UInt32>) {
    for scalar in scalars.compactMap(Unicode.Scalar.init) {
      let digits = String(scalar.value, radix: 16)
      let escape =
        scalar.value < 0x100
        ? "\\x" + (digits.count < 2 ? "0" : "") + digits
        : "\\u" + (digits.count < 4 ? "0" : "") + digits
      #expect(printable("a\(Character(scalar))b") == "a\(escape)b")
    }
  }

  @Test func `what is shown is printed as it is`() {
    let text = "~ é\u{301} ж 猫 🐈 \u{A0} https://example.org/a?b=c"
    #expect(printable(text) == text)
  }

  @Test func `a text that is too long is cut`() {
    #expect(printable("猫猫猫", longest: 2) == "猫猫…")
    #expect(printable("猫猫", longest: 2) == "猫猫")
  }
}
