import Testing

@testable import ImgdCache

@Suite("A key keeps its parts apart")
struct CacheKeyTests {
  private func key(
    _ url: String, _ identifier: String? = nil, _ scope: CredentialScope? = nil
  ) throws -> CacheKey {
    CacheKey(url: try CanonicalURL.parse(url), identifier: identifier, scope: scope)
  }

  @Test("URL and identifier never run together")
  func neverConcatenated() throws {
    #expect(try key("http://h/a", "bc") != key("http://h/ab", "c"))
    #expect(try key("http://h/a", "b") != key("http://h/ab"))
    #expect(try key("http://h/a", "b") == key("HTTP://h:80/a", "b"))
  }

  @Test("an empty identifier is none")
  func emptyIdentifier() throws {
    #expect(try key("http://h/a", "") == key("http://h/a"))
    #expect(try key("http://h/a", "").identifier == nil)
    #expect(try key("http://h/a", " ") != key("http://h/a"))
  }

  @Test("bytes decide, not how characters look")
  func bytesDecide() throws {
    let composed = try key("http://h/a", "\u{E9}")
    let decomposed = try key("http://h/a", "e\u{301}")
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed, composed]).count == 2)
  }

  @Test("equal keys hash alike")
  func hashing() throws {
    let keys = try [key("http://h/a", "b"), key("http://h/a"), key("http://h/ab")]
    #expect(Set(keys + keys).count == 3)
  }

  @Test("credentials and users part the keys")
  func scopes() throws {
    let mine = CredentialScope(uid: 1, credentials: [("authorization", "Bearer 1")])
    let same = CredentialScope(uid: 1, credentials: [("authorization", "Bearer 1")])
    let others = [
      CredentialScope(uid: 2, credentials: [("authorization", "Bearer 1")]),
      CredentialScope(uid: 1, credentials: [("authorization", "Bearer 2")]),
      CredentialScope(uid: 1, credentials: [("cookie", "Bearer 1")]),
      CredentialScope(uid: 1, credentials: [("authorization", "Bearer 1"), ("cookie", "")]),
      CredentialScope(uid: 1, credentials: [("authorizatio", "nBearer 1")]),
    ]
    #expect(mine == same)
    #expect(Set([mine, same]).count == 1)
    for other in others { #expect(mine != other) }
    #expect(try key("http://h/a", nil, mine) == key("http://h/a", nil, same))
    #expect(try key("http://h/a", nil, mine) != key("http://h/a"))
  }

  @Test("the order in which credentials came is of no account")
  func order() {
    let one = CredentialScope(uid: 1, credentials: [("authorization", "a"), ("cookie", "b")])
    let two = CredentialScope(uid: 1, credentials: [("cookie", "b"), ("authorization", "a")])
    #expect(one == two)
  }

  @Test("carries the digest that names its files, unless it has credentials")
  func digest() throws {
    let url = "https://example.org/a"
    #expect(try key(url).digest == KeyDigest(url: url, identifier: nil))
    #expect(try key(url, "x").digest == KeyDigest(url: url, identifier: "x"))
    #expect(try key(url, "").digest == key(url).digest)
    let scope = CredentialScope(uid: 1, credentials: [("cookie", "a")])
    #expect(try key(url, nil, scope).digest == nil)
    let known = CacheKey(
      url: try key(url).url, identifier: "", knownDigest: KeyDigest(high: 1, low: 2))
    #expect(known.digest == KeyDigest(high: 1, low: 2))
    #expect(try known == key(url))
  }
}
