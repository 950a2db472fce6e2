import Testing

@testable import ImgdCache

/// What parts the requests for one URL.
struct KeyVariantTests {
  private func variant(
    _ fields: HeaderList = [], identifier: String? = nil, uid: UInt32 = 1
  ) -> KeyVariant? {
    KeyVariant(identifier: identifier, fields: fields, uid: uid)
  }

  @Test func `a plain request has none, whoever sends it`() {
    #expect(variant() == nil)
    #expect(variant(identifier: "") == nil)
    #expect(variant([("dnt", "1"), ("cache-control", "no-cache"), ("if-match", "x")]) == nil)
  }

  @Test func `names and values part requests, and are not run together`() {
    let variants = [
      variant([("a", "bc")]), variant([("ab", "c")]), variant([("a", "b")]), variant([("a", "")]),
      variant([("a", "b"), ("c", "")]), variant([("a", "bc"), ("c", "d")]),
    ]
    #expect(Set(variants).count == variants.count && !variants.contains(nil))
  }

  @Test func `the order of headers and the blanks around their members mean nothing`() {
    #expect(variant([("a", "1"), ("b", "2")]) == variant([("b", "2"), ("a", "1")]))
    #expect(variant([("a", " 1 ,  2")]) == variant([("a", "1,2")]))
    #expect(variant([("a", "\"1 , 2\"")]) != variant([("a", "\"1,2\"")]))
    #expect(variant([("a", "1"), ("dnt", "1")]) == variant([("a", "1")]))
  }

  @Test func `a user counts where there is an identifier, and only there`() {
    #expect(variant([("a", "1")], uid: 1) == variant([("a", "1")], uid: 2))
    #expect(variant(identifier: "x", uid: 1) == variant(identifier: "y", uid: 1))
    #expect(variant(identifier: "x", uid: 1) != variant(identifier: "x", uid: 2))
    #expect(variant(identifier: "x", uid: 0) != nil)
    #expect(
      variant([("a", "1")], identifier: "x", uid: 1)
        != variant([("a", "1")], identifier: "x", uid: 2))
    #expect(variant([("a", "1")], identifier: "x") != variant([("a", "1")]))
    #expect(variant([("dnt", "1")], identifier: "x") == variant(identifier: "x"))
  }

  /// Files of an earlier process are named after it.
  @Test func `a variant is the same in every process`() {
    #expect(variant(identifier: "x", uid: 7) == KeyVariant(high: 0, low: 7))
    #expect(
      variant([("accept-language", "de")])
        == KeyVariant(high: 0x4edd63117ee09deb, low: 0x0aecdc187ae8572a))
  }
}
