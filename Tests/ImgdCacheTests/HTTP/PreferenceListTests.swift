import Testing

@testable import ImgdCache

/// The spellings of one list of preferences.
struct PreferenceListTests {
  static let table: [(name: String, value: String, normalised: String?)] = [
    ("accept", "image/webp", "image/webp"), ("accept", "Image/WEBP , */*", "*/*,image/webp"),
    ("accept", "b/b,a/a", "a/a,b/b"), ("accept", "a/a;q=1.0", "a/a"), ("accept", "a/a;q=1.", "a/a"),
    ("accept", "a/a ; Q=0.50", "a/a;q=0.5"), ("accept", "a/a;q=0.000", "a/a;q=0"),
    ("accept", "a/a;q=0.505,a/a;q=.5", nil), ("accept", "a/a,a/a;q=1,A/a", "a/a"),
    ("accept", "a/a;q=0.1,a/a", "a/a,a/a;q=0.1"),
    ("accept", "text/html;Level=One;B=2;q=0.3", "text/html;level=One;b=2;q=0.3"),
    ("accept", "text/html;b=2;a=1", "text/html;b=2;a=1"),
    ("accept", "a/a;q=0.2;b=1", "a/a;b=1;q=0.2"), ("accept", #"a/a;b="c""#, "a/a;b=c"),
    ("accept", #"a/a;b="c,d""#, #"a/a;b="c,d""#), ("accept", #"a/a;b="\c\"""#, #"a/a;b="c\"""#),
    ("accept", #"a/a;b="c"#, nil), ("accept", "a/a;b", nil), ("accept", "a/a; b =1", nil),
    ("accept", "a/a;;q=0.1;", "a/a;q=0.1"), ("accept", "image", nil), ("accept", "a /a", nil),
    ("accept", "a/a b/b", nil), ("accept", "a/a;q=1.001", nil), ("accept", "a/a;q=2", nil),
    ("accept", "a/a;q=0.1234", nil), ("accept", "a/a;q=", nil), ("accept", "a/a;q=0.1;q=0.1", nil),
    ("accept", "a/a;q=\"1\"", nil), ("accept", ",, a/a ,", "a/a"), ("accept", "", ""),
    ("accept-language", "de-CH, EN;q=0.5", "de-ch,en;q=0.5"),
    ("accept-language", "en;q=0.50,de-ch;q=1", "de-ch,en;q=0.5"),
    ("accept-language", "de;x=1", nil), ("accept-language", "de/at", nil),
    ("accept-encoding", "GZIP, br;q=0", "br;q=0,gzip"), ("accept-encoding", "*", "*"),
    ("accept-charset", "UTF-8;q=1.000", "utf-8"),
  ]

  @Test(arguments: table.indices)
  func `a list has one form for all its spellings (RFC 9110, 12.5)`(index: Int) {
    let row = Self.table[index]
    let normalised = PreferenceList.normalised(row.value, of: row.name)
    #expect(normalised == row.normalised, "\(row.value)")
    guard let normalised else { return }
    #expect(PreferenceList.normalised(normalised, of: row.name) == normalised)
  }

  @Test func `a list of very many members is compared as it was written`() {
    let few = (0..<128).map { "a/\($0)" }
    #expect(PreferenceList.normalised(few.joined(separator: ","), of: "accept") != nil)
    let many = few + ["b/b"]
    #expect(PreferenceList.normalised(many.joined(separator: ","), of: "accept") == nil)
    let (there, back) = (many.joined(separator: " , "), many.reversed().joined(separator: ","))
    let outcome = VaryOutcome(varying: ["accept"], sent: [("accept", there)])
    #expect(outcome.matches(sent: [("accept", many.joined(separator: ","))]))
    #expect(!outcome.matches(sent: [("accept", back)]))
  }

  @Test func `every cut and every changed byte gives a result that stays as it is`() {
    let sample = Array(#"a/b;c="d\" ,e" ;q=0.50, *;q=1"#.utf8)
    for place in sample.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = sample
        changed[place] = byte
        for bytes in [changed[...], changed[..<place]] {
          let sent: HeaderList = [("accept", String(decoding: bytes, as: UTF8.self))]
          let outcome = VaryOutcome(varying: ["accept"], sent: sent)
          #expect(outcome.matches(sent: sent))
          #expect(VaryOutcome(varying: ["accept"], sent: outcome.pairs) == outcome)
        }
      }
    }
  }
}
