import Testing

@testable import ImgdGateway

struct ByteRangeTests {
  @Test(
    arguments: [
      ("bytes=0-0", .part(0..<1)), ("bytes=0-99", .part(0..<100)), ("bytes=10-19", .part(10..<20)),
      ("bytes=99-", .part(99..<100)), ("bytes=0-", .part(0..<100)), ("Bytes=5-6", .part(5..<7)),
      ("bytes=90-500", .part(90..<100)), ("bytes=-1", .part(99..<100)),
      ("bytes=-100", .part(0..<100)),
      ("bytes=-500", .part(0..<100)), ("bytes=-99999999999999999999999", .part(0..<100)),
      ("bytes=1-99999999999999999999999", .part(1..<100)),
      ("bytes=100-", .unsatisfiable), ("bytes=100-200", .unsatisfiable),
      ("bytes=-0", .unsatisfiable),
      ("bytes=9223372036854775807-", .unsatisfiable),
      ("bytes=99999999999999999999999-", .unsatisfiable),
      ("bytes=99999999999999999999999-99999999999999999999999", .unsatisfiable),
    ] as [(String, ByteRange)])
  func `one part of a hundred bytes is found`(text: String, range: ByteRange) {
    #expect(ByteRange([text], of: 100) == range)
  }

  @Test(arguments: [
    "", "bytes", "bytes=", "bytes=-", "bytes=0-1,5-6", "bytes=5-4", "bytes=a-b", "bytes=1", "0-1",
    "lines=0-1", "bytes=+1-2", "bytes=0x1-2", "bytes= 0-1", "bytes=0 -1", "bytes=0-1-2",
    "bytes=--1",
    "bytes=1-\u{0662}", "bytes=0-1=2",
  ])
  func `anything else is the whole picture`(text: String) {
    #expect(ByteRange([text], of: 100) == .whole)
  }

  @Test func `none and several fields are the whole picture`() {
    #expect(ByteRange([], of: 100) == .whole)
    #expect(ByteRange(["bytes=0-1", "bytes=0-1"], of: 100) == .whole)
  }
}
