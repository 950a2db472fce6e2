import Testing

@testable import ImgdTransfer

struct ContentRangeTests {
  @Test(arguments: [
    ("bytes 600-999/1000", 600, 999, 1_000), ("bytes 0-0/1", 0, 0, 1),
    ("BYTES 5-6/10", 5, 6, 10), ("bytes   5-6/10", 5, 6, 10), ("bytes 007-8/10", 7, 8, 10),
    (
      "bytes 1-9223372036854775806/9223372036854775807", 1, 9_223_372_036_854_775_806,
      9_223_372_036_854_775_807
    ),
  ])
  func `a content range is read`(value: String, first: Int, last: Int, total: Int) throws {
    let range = try #require(ContentRange(value))
    #expect(range.first == first && range.last == last && range.total == total)
    #expect(range.count == last - first + 1)
  }

  @Test(arguments: [
    "", " ", "bytes", "bytes ", "bytes 600-999", "bytes 600-999/", "bytes 600-999/*",
    "bytes */1000", "bytes */*", "bytes=600-999/1000", "bytes 600-/1000", "bytes -999/1000",
    "bytes 999-600/1000", "bytes 600-1000/1000", "bytes 0-0/0", "items 600-999/1000",
    "bytes -1-9/10", "bytes +1-9/10", "bytes 1-+9/10", "bytes 1-9/+10", "bytes 1 - 9/10",
    "bytes 1-9/10 ", "bytes 1-9/10, 1-9/10", "bytes 1-9/10/10", "bytes 0x1-9/10",
    "bytes 1.0-9/10",
    "bytes 99999999999999999999-9/10", "bytes 1-99999999999999999999/10",
    "bytes 1-9/99999999999999999999", "bytes ١-٩/١٠", "\u{0}bytes 1-9/10", "é 1-9/10",
  ])
  func `a malformed content range is refused`(value: String) {
    #expect(ContentRange(value) == nil)
  }

  @Test func `a content range survives any byte at any place`() {
    let value = Array("bytes 600-999/1000".utf8)
    for index in value.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = value
        changed[index] = byte
        guard let range = ContentRange(String(decoding: changed, as: UTF8.self)) else { continue }
        #expect(range.first <= range.last && range.last < range.total)
      }
    }
  }

  @Test func `a cut content range is never read as another`() {
    let value = "bytes 600-999/1000"
    for count in 0..<value.utf8.count {
      let range = ContentRange(String(value.prefix(count)))
      // Cut in the total, the range ends beyond it.
      #expect(range == nil, "\(value.prefix(count))")
    }
  }
}
