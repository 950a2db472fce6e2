import ImgdTestSupport
import Testing

@testable import ImgdText

/// The form of dates that nearly all origins send, which has a way of its own.
struct HTTPDateTextTests {
  private static let latest: Int64 = 253_402_300_799  // The end of the year 9999.

  @Test(arguments: [
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
    (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
    (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
    (latest, "Fri, 31 Dec 9999 23:59:59 GMT"),
  ])
  func `a moment is written as origins write it`(seconds: Int64, text: String) {
    #expect(HTTPDate.text(seconds) == text)
    #expect(HTTPDate.secondsOfUsualForm(text) == seconds)
  }

  @Test func `what is written is read, and the same by the way for all forms`() {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<2_000 {
      let seconds = Int64.random(in: 0...Self.latest, using: &random)
      let text = HTTPDate.text(seconds)
      #expect(HTTPDate.secondsOfUsualForm(text) == seconds)
      // In lower case it is not the usual form.
      #expect(HTTPDate.secondsOfUsualForm(text.lowercased()) == nil)
      #expect(HTTPDate.parse(text.lowercased(), now: 0) == seconds)
    }
  }

  @Test func `nothing is taken for the usual form that would be written otherwise`() {
    let bytes = Array("Tue, 29 Feb 2000 23:59:09 GMT".utf8)
    for place in bytes.indices {
      for byte in UInt8.min...UInt8.max where byte != bytes[place] {
        var changed = bytes
        changed[place] = byte
        let text = String(decoding: changed, as: UTF8.self)
        guard let seconds = HTTPDate.secondsOfUsualForm(text) else { continue }
        #expect(HTTPDate.text(seconds) == text)
      }
    }
  }

  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:60 GMT", "Mon, 06 Nov 1994 08:49:37 GMT",
    "Wed, 31 Dec 1969 23:59:59 GMT", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 08:49:37 GM",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun,  6 Nov 1994 08:49:37 GMT", "",
  ])
  func `another text is not the usual form`(text: String) {
    #expect(HTTPDate.secondsOfUsualForm(text) == nil)
  }
}
