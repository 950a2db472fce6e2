import Testing

@testable import ImgdCache

struct CacheControlTests {
  private func read(_ values: String...) -> CacheControl {
    CacheControl(values.map { ("cache-control", $0) })
  }

  @Test(arguments: [
    ("max-age=60", 60), ("Max-Age=60", 60), ("max-age=\"60\"", 60), ("max-age=0", 0),
    ("max-age=-1", 0), ("max-age=-99999999999999999999", 0), ("max-age=00060", 60),
    ("max-age=2147483648", 2_147_483_648), ("max-age=99999999999999999999999", 2_147_483_648),
    ("max-age=60, max-age=10", 10), ("max-age=10,max-age=60", 10), (" max-age=60 ", 60),
    (",,, max-age=60 ,,", 60), ("public\t,\tmax-age=60", 60), ("foo=\"a,b\", max-age=60", 60),
    ("foo=\"max-age=1\", max-age=60", 60), ("foo=\"\\\",max-age=1\", max-age=60", 60),
    ("@@, max-age=60", 60), ("max-age=\"6\\0\"", 60), ("max-age=\" 60\", max-age=60", 0),
    ("max-age=3600, max-age=0", 0), ("max-age=2147483649", 2_147_483_648),
    ("x=\"\\\"\", max-age=60", 60), ("max-age=60, x=\"no end", 60), ("max-age=60\t", 60),
  ])
  func `a Cache-Control directive with a number of seconds is read`(value: String, seconds: Int64) {
    #expect(read(value).maxAge == seconds)
  }

  @Test(arguments: [
    "max-age", "max-age=", "max-age=x", "max-age=1.5", "max-age=1x", "max-age=\"60",
    "max-age =60", "max-age= 60 0", "max-age=--1", "max-age=+5", "max-age=-", "max-age=\"\"",
    "max-age=x, max-age=60", "max-age=60, max-age=x",
    "max-age = 60", "max-age= 60", "max-age\t=60", "max-age=60s", "max-age=60 s", "max-age=60;x=1",
    "max-age=60; public", "max-age='60'", "max-age=\"60\"s", "max-age=\"60\" s", "max-age=6\"0\"",
    "max-age==60", "max-age=0x3c", "max-age=６０", "max-age:60, max-age", "max-age=\"60, public",
    "max-age=60 60", "max-age=1e3", "max-age=1,000, max-age=1 000",
    "x=\"no end, max-age=60", "max-age=60, x=\"no end, max-age=60", "max-age:60",
  ])
  func `an invalid number counts as 0`(value: String) {
    #expect(read(value).maxAge == 0)
  }

  @Test(arguments: [
    "", "x-max-age=60", "=60", "max-age60", "'max-age'=60", "x=\"max-age=60\"",
    "x=\"a,max-age=60,no-store\"", "x=\"\\\",no-store,private\"",
    "x=\"no-store\\\\\", y=\"private\"", "max_age=60", "\"max-age\"=60",
  ])
  func `a directive that is malformed in another way is ignored`(value: String) {
    let control = read(value)
    #expect(control.maxAge == nil)
    #expect(!control.noStore && !control.noCache && !control.isPrivate)
    #expect(control.isPresent)
  }

  @Test func `a Cache-Control directive without a number is read`() {
    #expect(read("no-store").noStore)
    #expect(read("NO-CACHE").noCache)
    #expect(read("no-cache=\"set-cookie\"").noCache)
    #expect(read("private").isPrivate)
    #expect(read("private=\"x-user, x-name\", max-age=1").isPrivate)
    #expect(read("public").isPublic)
    #expect(read("must-revalidate").mustRevalidate)
    #expect(read("proxy-revalidate").proxyRevalidate)
    #expect(read("must-understand").mustUnderstand)
    #expect(read("immutable").isImmutable)
    #expect(!read("no-stores, xno-store, no store").noStore)
    #expect(read("s-maxage=5").sharedMaxAge == 5)
    #expect(read("stale-while-revalidate=5").staleWhileRevalidate == 5)
    #expect(read("stale-if-error=5").staleIfError == 5)
  }

  @Test(arguments: [
    "no-store", "No-Store", "no-store=x", "no-store=\"x\"", "no-store=", "no-store =x",
    "no-store x", "no-store;x", "x;y, no-store", ",,no-store,,", "max-age=60\t,\tno-store\t",
    "no-store, no-store", "x=\"no end, no-store", "x=\"\\\", no-store", "\"no end, no-store",
    "x=\"\" \"no end, no-store", "max-age=\"60, no-store", "=, no-store", "@@, no-store",
  ])
  func `a directive that forbids counts in every form`(value: String) {
    #expect(read(value).noStore)
    func other(_ name: String) -> CacheControl {
      read(value.lowercased().replacing("no-store", with: name))
    }
    #expect(other("private").isPrivate && other("no-cache").noCache)
    #expect(other("must-revalidate").mustRevalidate && other("proxy-revalidate").proxyRevalidate)
  }

  @Test(arguments: [
    "public=x", "public=\"x\"", "public=", "public =x", "public x", "public;x", "\"public\"",
    "x=\"no end, public", "max-age=\"60, public", "x=\"public\"", "public, ", "PUBLIC",
    "public=x, public", "public, x=\"no end",
  ])
  func `a directive that permits counts as it should be written`(value: String) {
    let isRight = ["public, ", "PUBLIC", "public=x, public", "public, x=\"no end"].contains(value)
    #expect(read(value).isPublic == isRight)
    func other(_ name: String) -> CacheControl {
      read(value.lowercased().replacing("public", with: name))
    }
    #expect(other("must-understand").mustUnderstand == isRight)
    #expect(other("immutable").isImmutable == isRight)
  }

  @Test func `a grant of stale use that cannot be read grants nothing`() {
    for value in ["x", "1.5", "\"5", "5s", "", "-5"] {
      #expect(read("stale-while-revalidate=\(value)").staleWhileRevalidate == 0)
      #expect(read("stale-if-error=\(value)").staleIfError == 0)
    }
    #expect(read("stale-if-error=9, stale-if-error=5").staleIfError == 5)
    #expect(read("s-maxage=9, s-maxage=5").sharedMaxAge == 5)
    #expect(read("s-maxage=9, s-maxage=x").sharedMaxAge == 0)
  }

  @Test func `a quoted string without an end hides nothing in the fields behind it`() {
    #expect(read("x=\"no end", "no-store").noStore)
    // As one line, which the fields of an answer are joined to.
    #expect(read("x=\"no end, private, max-age=60").isPrivate)
  }

  @Test func `several Cache-Control fields form one list`() {
    let control = read("max-age=60", "no-cache", "max-age=50, public")
    #expect(control.maxAge == 50)
    #expect(control.noCache && control.isPublic)
  }

  @Test func `Pragma counts where Cache-Control is missing`() {
    #expect(CacheControl([("pragma", "no-cache")]).noCache)
    #expect(!CacheControl([("pragma", "no-cache"), ("cache-control", "max-age=1")]).noCache)
    #expect(!CacheControl([("pragma", "x")]).noCache)
    #expect(CacheControl([("pragma", "NO-CACHE=\"x\"")]).noCache)
    #expect(CacheControl([("pragma", "x=\"no end, no-cache")]).noCache)
  }

  @Test func `every cut and every changed byte gives a result`() {
    let sample = Array(
      "private=\"a,\\\"b\", max-age=\"60\", no-cache , s-maxage=9999999999999".utf8)
    for place in sample.indices {
      _ = read(String(decoding: sample[..<place], as: UTF8.self))
      for byte in UInt8.min...UInt8.max {
        var changed = sample
        changed[place] = byte
        _ = read(String(decoding: changed, as: UTF8.self))
      }
    }
  }
}
