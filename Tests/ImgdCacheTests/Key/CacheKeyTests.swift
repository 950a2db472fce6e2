import Testing

@testable import ImgdCache

/// The parts of a key, and equality.
struct CacheKeyTests {
  private func key(
    _ url: String, _ identifier: String? = nil, _ scope: CredentialScope? = nil
  ) throws -> CacheKey {
    CacheKey(url: try CanonicalURL.parse(url), identifier: identifier, scope: scope)
  }

  @Test func `URL and identifier are kept apart in a key`() throws {
    #expect(try key("http://h/a", "bc") != key("http://h/ab", "c"))
    #expect(try key("http://h/a", "b") != key("http://h/ab"))
    #expect(try key("http://h/a", "b") == key("HTTP://h:80/a", "b"))
  }

  @Test func `an empty identifier means no identifier`() throws {
    #expect(try key("http://h/a", "") == key("http://h/a"))
    #expect(try key("http://h/a", "").identifier == nil)
    #expect(try key("http://h/a", " ") != key("http://h/a"))
  }

  @Test func `keys are compared by bytes, not by the look of characters`() throws {
    let composed = try key("http://h/a", "\u{E9}")
    let decomposed = try key("http://h/a", "e\u{301}")
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed, composed]).count == 2)
  }

  @Test func `equal keys have equal hashes`() throws {
    let keys = try [key("http://h/a", "b"), key("http://h/a"), key("http://h/ab")]
    #expect(Set(keys + keys).count == 3)
  }

  @Test func `keys of different credentials and users are different`() throws {
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

  @Test func `keys of different variants are different, and so are their digests`() throws {
    let url = try CanonicalURL.parse("http://h/a")
    let variants: [KeyVariant?] = [
      nil, KeyVariant(high: 0, low: 0), KeyVariant(high: 0, low: 1), KeyVariant(high: 1, low: 0),
    ]
    let keys = variants.flatMap { variant in
      // The digits that a variant has in a digest are no identifier.
      [nil, "x", "00000000000000000000000000000001"].map {
        CacheKey(url: url, identifier: $0, variant: variant)
      }
    }
    #expect(Set(keys).count == keys.count)
    #expect(Set(keys.compactMap(\.digest)).count == keys.count)
    for key in keys {
      #expect(key == CacheKey(url: url, identifier: key.identifier, variant: key.variant))
    }
  }

  @Test func `the order of credentials does not matter`() {
    let one = CredentialScope(uid: 1, credentials: [("authorization", "a"), ("cookie", "b")])
    let two = CredentialScope(uid: 1, credentials: [("cookie", "b"), ("authorization", "a")])
    #expect(one == two)
  }

  @Test func `a key has the digest that names its files, unless it has credentials`() throws {
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
