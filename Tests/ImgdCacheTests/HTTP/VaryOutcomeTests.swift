import ImgdCache
import Testing

/// The headers on which an answer depends.
struct VaryOutcomeTests {
  struct Row: Sendable {
    let name: String
    let varying: [String]
    let stored: [(name: String, value: String)]
    let sent: [(name: String, value: String)]
    let matches: Bool

    init(
      _ name: String, _ varying: [String], _ stored: [(name: String, value: String)],
      _ sent: [(name: String, value: String)], _ matches: Bool
    ) {
      (self.name, self.varying, self.stored) = (name, varying, stored)
      (self.sent, self.matches) = (sent, matches)
    }
  }

  static let rows = [
    Row("nothing", [], [("x", "1")], [("x", "2")], true),
    Row("the same", ["accept"], [("accept", "a")], [("accept", "a")], true),
    Row("another value", ["accept"], [("accept", "a")], [("accept", "b")], false),
    Row("another case is another value", ["accept"], [("accept", "a")], [("accept", "A")], false),
    Row("both absent", ["accept"], [], [], true),
    Row("both absent among others", ["accept"], [("x", "1")], [("y", "2")], true),
    Row("now absent", ["accept"], [("accept", "a")], [], false),
    Row("now absent among others", ["accept"], [("accept", "a")], [("x", "a")], false),
    Row("absent then", ["accept"], [], [("accept", "a")], false),
    Row("empty is not absent", ["accept"], [("accept", "")], [], false),
    Row("absent is not empty", ["accept"], [], [("accept", " ")], false),
    Row("empty is empty", ["accept"], [("accept", "")], [("accept", " \t")], true),
    Row("blanks around", ["accept"], [("accept", " a\t")], [("accept", "a")], true),
    Row("blanks around commas", ["accept"], [("accept", "a , b")], [("accept", "a,b")], true),
    Row("blanks inside", ["accept"], [("accept", "a b")], [("accept", "a  b")], false),
    Row("blanks in quotes", ["x"], [("x", "\"a , b\"")], [("x", "\"a,b\"")], false),
    Row("quotes that never end", ["x"], [("x", "\"a , b")], [("x", "\"a,b")], false),
    Row(
      "another order of preferences", ["accept"], [("accept", "a/a, b/b;q=0.50")],
      [("accept", "B/b;q=0.5,A/A")], true),
    Row(
      "preferences in two fields", ["accept"], [("accept", "b/b"), ("accept", "a/a")],
      [("accept", "a/a,b/b")], true),
    Row(
      "quotes over two fields", ["x"], [("x", "\"a"), ("x", "b\" , c")], [("x", "\"a,b\",c")], true),
    Row("another order", ["x"], [("x", "a,b")], [("x", "b,a")], false),
    Row("an order without a grammar", ["accept"], [("accept", "a,b")], [("accept", "b,a")], false),
    Row("two fields are a list", ["x"], [("x", "a"), ("x", "b")], [("x", "a, b")], true),
    Row("an empty member is a member", ["x"], [("x", "a,,b")], [("x", "a,b")], false),
    Row(
      "credentials are in the key", ["cookie", "authorization"], [("cookie", "a")],
      [("cookie", "b")], true),
    Row("names in any case", ["Accept"], [("accept", "a")], [("accept", "b")], false),
    Row("all of them", ["a", "b"], [("a", "1"), ("b", "1")], [("b", "1"), ("a", "1")], true),
    Row("one of them", ["a", "b"], [("a", "1"), ("b", "1")], [("a", "1"), ("b", "2")], false),
    Row("one spelling of é is not the other", ["x"], [("x", "\u{e9}")], [("x", "e\u{301}")], false),
  ]

  @Test(arguments: rows.indices)
  func `a request with the same varying headers gets the same answer (4.1)`(index: Int) {
    let row = Self.rows[index]
    let outcome = VaryOutcome(varying: row.varying, sent: row.stored)
    #expect(outcome.matches(sent: row.sent) == row.matches, "\(row.name)")
    #expect((outcome == VaryOutcome(varying: row.varying, sent: row.sent)) == row.matches)
    #expect(outcome.matches(sent: row.stored), "\(row.name): the same request")
  }

  @Test(arguments: rows.indices)
  func `a Vary outcome is rebuilt from its names and pairs`(index: Int) {
    let row = Self.rows[index]
    let outcome = VaryOutcome(varying: row.varying, sent: row.stored)
    #expect(VaryOutcome(varying: row.varying, sent: outcome.pairs) == outcome)
  }

  @Test func `every cut and every changed byte gives a result`() {
    let sample = Array("a , \"b\\\" , c\" ,, d\t".utf8)
    for place in sample.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = sample
        changed[place] = byte
        for bytes in [changed[...], changed[..<place]] {
          let sent: HeaderList = [("x", String(decoding: bytes, as: UTF8.self))]
          #expect(VaryOutcome(varying: ["x"], sent: sent).matches(sent: sent))
        }
      }
    }
  }
}
