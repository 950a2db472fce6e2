import ImgdTestSupport
import Testing

@testable import ImgdCache

/// `Key`: the parameters of a URL that belong to the key of a picture.
struct QueryRuleTests {
  private static let host = "https://example.org"

  private func key(_ kind: QueryRule.Kind, _ names: [String], _ path: String) throws -> String {
    let key = QueryRule(kind, names).key(of: try CanonicalURL.parse(Self.host + path))
    #expect(QueryRule(kind, names).key(of: key) == key, "the URL of a key is its own key")
    #expect(try CanonicalURL.parse(key.text) == key, "the URL of a key is in its one form")
    return String(key.text.dropFirst(Self.host.utf8.count))
  }

  @Test(arguments: [
    ("/a", "/a"), ("/a?", "/a?"), ("/a?b=1", "/a?b=1"), ("/a?Signature=1", "/a"), ("/a?Signature", "/a"),
    ("/a?b=1&Signature=x&c=2", "/a?b=1&c=2"), ("/a?Signature=x&b=1&Signature=y", "/a?b=1"),
    ("/a?X-Amz-Date=1&X-Amz-=2&X-Amz=3", "/a?X-Amz=3"), ("/a?signature=1", "/a?signature=1"),
    // Names count as they are meant, and what is left keeps its bytes.
    ("/a?%53ignature=1&%62=1", "/a?%62=1"), ("/a?Signatur%65&x=%7e", "/a?x=%7e"),
    ("/a?Signature%=1", "/a?Signature%=1"),
    ("/a?Signature%4=1", "/a?Signature%4=1"), ("/a?b=Signature=1", "/a?b=Signature=1"), ("/a?=1&&b", "/a?=1&&b"),
    ("/a?b=1&a=2&Signature=1", "/a?b=1&a=2"), ("/a?b=?Signature=1&Signature=2", "/a?b=?Signature=1"),
  ])
  func `without some parameters, all others are left as they are`(path: String, expected: String) throws {
    #expect(try key(.without, ["X-Amz-*", "Signature"], path) == expected)
  }

  @Test(arguments: [
    ("/a", "/a"), ("/a?", "/a"), ("/a?id=1&size=2", "/a?id=1&size=2"), ("/a?size=2&x=1&id=1", "/a?size=2&id=1"),
    ("/a?x=1", "/a"), ("/a?ID=1", "/a"), ("/a?i%64=1", "/a?i%64=1"), ("/a?&id&", "/a?id"), ("/a?id&id", "/a?id&id"),
  ])
  func `only some parameters are left`(path: String, expected: String) throws {
    #expect(try key(.only, ["id", "size"], path) == expected)
  }

  @Test func `a star alone means every parameter, and a name may be written with percent signs`() throws {
    #expect(try key(.without, ["*"], "/a?b=1&c") == "/a")
    #expect(try key(.only, [], "/a?b=1&c") == "/a")
    #expect(try key(.without, ["a%20b"], "/a?a%20b=1&c") == "/a?c")
  }

  @Test func `URLs that differ in what is not listed have keys of their own`() throws {
    try expectNoMerge(20_000)
  }

  fileprivate func expectNoMerge(_ pairs: Int) throws {
    let rule = QueryRule(.without, ["X-Amz-*", "Signature", "Expires"])
    var random = SplitMix(seed: 7)
    for _ in 0..<pairs {
      let shared = parameters(&random)
      let (name, place) = (Self.names[Int(random.next() % 4)], Int(random.next() % UInt64(shared.count + 1)))
      let urls = try [String(random.next() % 50), String(50 + random.next() % 50)].map { value in
        var all = shared
        all.insert("\(name)=\(value)", at: place)
        // Signatures of both come anywhere.
        for listed in ["X-Amz-Signature", "Signature", "Expires"] where random.next() % 2 == 0 {
          all.insert("\(listed)=\(random.next())", at: Int(random.next() % UInt64(all.count + 1)))
        }
        return try CanonicalURL.parse("\(Self.host)/a?" + all.joined(separator: "&"))
      }
      try #require(rule.key(of: urls[0]) != rule.key(of: urls[1]), "\(urls.map(\.text))")
    }
  }

  private static let names = ["id", "signature", "X-Am", "%65xpires"]

  private func parameters(_ random: inout SplitMix) -> [String] {
    (0..<Int(random.next() % 4)).map { _ in "\(Self.names[Int(random.next() % 4)])=\(random.next() % 3)" }
  }
}

@Suite("A million pairs of URLs", .enabled(if: SlowTests.areWanted, Comment(rawValue: SlowTests.reason)))
struct QueryRuleSoakTests {
  @Test func `none of them becomes one`() throws { try QueryRuleTests().expectNoMerge(1_000_000) }
}

/// Numbers that are the same in each run.
private struct SplitMix {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
