import ImgdCache
import ImgdSystem
import Testing

@Suite("A cached image")
struct CachedImageTests {
  @Test("ages from the age that it came with")
  func age() {
    let image = image(
      key("http://h/a"), headers: [("cache-control", "max-age=60"), ("age", "20")], storedAt: 100)
    #expect(image.age(at: at(100)) == 20)
    #expect(image.age(at: at(130)) == 50)
    #expect(image.freshFor(at: at(130)) == 10)
    #expect(image.isFresh(at: at(139)))
    #expect(!image.isFresh(at: at(140)))
    #expect(image.freshFor(at: at(500)) == 0)
    #expect(image.age(at: at(0)) == 20, "a clock before the beginning makes no age less")
  }

  @Test("varies on the headers of Vary, but for credentials, which the key holds")
  func varies() {
    let image = image(key("http://h/a"), headers: [("vary", "Accept, Cookie, Authorization")])
    #expect(image.varies(on: "accept"))
    #expect(!image.varies(on: "cookie"))
    #expect(!image.varies(on: "authorization"))
    #expect(!image.varies(on: "x-other"))
  }

  @Test("keeps the validators, and is renewed when they hold")
  func renewing() {
    let headers: HeaderList = [("etag", "\"1\""), ("cache-control", "max-age=5")]
    let old = image(key("http://h/a"), serial: 3, headers: headers, tags: ["t"])
    #expect(old.response.entityTag == "\"1\"")
    #expect(old.response.canBeConfirmed)
    #expect(!image("http://h/b").response.canBeConfirmed)
    let new = old.renewed(
      response: StoredResponse(status: 200, headers: headers),
      freshness: Freshness(status: 200, headers: headers, receivedAt: 0), serial: 4, at: at(50),
      wall: 50)
    #expect(new.payload === old.payload)
    #expect(new.isFresh(at: at(54)) && !old.isFresh(at: at(54)))
    #expect((new.serial, new.tags, new.key) == (4, ["t"], old.key))
  }

  @Test("a lifetime of no end is no overflow")
  func endless() {
    let freshness = Freshness(
      status: 200, headers: [], ttl: .seconds(Int64.max), receivedAt: 0)
    let endless = CachedImage(
      key: key("http://h/a"), payload: Payload([]),
      facts: ImageFacts(format: 0, width: 1 << 40, height: 1, frames: 1, orientation: 999),
      response: StoredResponse(status: 200, headers: []), freshness: freshness, serial: 1,
      at: at(1_000), wall: 0)
    #expect(endless.isFresh(at: at(2_000)))
    #expect(endless.freshFor(at: at(2_000)) > 1_000_000)
  }
}
