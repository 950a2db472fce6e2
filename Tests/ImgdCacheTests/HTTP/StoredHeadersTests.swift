import ImgdCache
import Testing

@Suite("Stored headers")
struct StoredHeadersTests {
  private func roundTrips(_ list: HeaderList) -> Bool {
    let read = StoredHeaders(list).list
    return read.map(\.name) == list.map(\.name) && read.map(\.value) == list.map(\.value)
  }

  @Test("come back as they went in, whatever is in them")
  func roundTrip() {
    #expect(roundTrips([]))
    #expect(roundTrips([("etag", "\"x\""), ("set-cookie", "a=b"), ("set-cookie", "c=d")]))
    #expect(roundTrips([("", ""), ("a", ""), ("", "b"), ("x", "line\nline:\0ä")]))
    #expect(roundTrips([("long", String(repeating: "v", count: 70_000))]))
  }
}
