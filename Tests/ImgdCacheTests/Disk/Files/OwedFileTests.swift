import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct OwedFileTests {
  private static let orders: [RemovalOrder] = {
    var named = PurgeFilter()
    named.url = try? CanonicalURL.parse("https://example.org/a")
    named.identifier = ""
    named.prefix = "https://"
    named.host = "example.org"
    named.tag = "ä"
    var aged = PurgeFilter()
    aged.olderThan = .seconds(5)
    aged.unusedFor = .seconds(0)
    aged.expired = true
    return [
      RemovalOrder(named, isSoft: false, askedAt: 1, keepUntil: 2),
      RemovalOrder(aged, isSoft: true, askedAt: 3, keepUntil: 0),
      RemovalOrder(PurgeFilter(), isSoft: false, askedAt: 4, keepUntil: 0),
      RemovalOrder(PurgeFilter(KeyDigest(high: 1, low: 2)), isSoft: false, askedAt: 5),
    ]
  }()

  @Test func `what is written is read`() throws {
    let place = try DiskPlace()
    let file = OwedFile(runtime: place.root, cache: place.path)
    #expect(file.read().orders == [])
    try file.write(Self.orders)
    #expect(file.read().orders == Self.orders)
    try file.write([Self.orders[1]])
    #expect(file.read().orders == [Self.orders[1]])
    file.remove()
    #expect(file.read().orders == [])
    #expect(try names(place.root) == [])
  }

  @Test func `a file that was cut or changed is no file`() {
    let bytes = OwedCodec.encode(Self.orders)
    #expect(OwedCodec.decode(bytes) == Self.orders)
    for end in bytes.indices { #expect(OwedCodec.decode(Array(bytes[..<end])) == []) }
    for place in bytes.indices {
      var changed = bytes
      changed[place] ^= 0x40
      #expect(OwedCodec.decode(changed) == [])
    }
  }
}
