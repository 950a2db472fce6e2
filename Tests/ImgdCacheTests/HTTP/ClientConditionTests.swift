import ImgdCache
import Testing

/// A client's condition, and what is stored.
struct ClientConditionTests {
  struct Row: Sendable {
    let name: String
    let sent: [(name: String, value: String)]
    let stored: [(name: String, value: String)]
    let isCovered: Bool

    init(
      _ name: String, _ sent: [(name: String, value: String)],
      _ stored: [(name: String, value: String)], _ isCovered: Bool
    ) {
      (self.name, self.sent, self.stored, self.isCovered) = (name, sent, stored, isCovered)
    }
  }

  private static let early = "Tue, 01 Jul 2025 10:00:00 GMT"
  private static let middle = "Tue, 01 Jul 2025 10:00:01 GMT"
  private static let late = "Tue, 01 Jul 2025 10:00:02 GMT"
  /// That of `middle`.
  private static let received: Int64 = 1_751_364_001

  private static func tags(_ sent: String, _ stored: String, _ isCovered: Bool) -> Row {
    Row("\(sent) for \(stored)", [("if-none-match", sent)], [("etag", stored)], isCovered)
  }

  private static func since(
    _ name: String, _ sent: String, _ stored: [(name: String, value: String)], _ isCovered: Bool
  ) -> Row {
    Row(name, [("if-modified-since", sent)], stored, isCovered)
  }

  static let tagRows = [
    tags(#""1""#, #""1""#, true), tags(#""1""#, #""2""#, false),
    // The comparison is weak: either may be, or both.
    tags(#"W/"1""#, #""1""#, true), tags(#""1""#, #"W/"1""#, true),
    tags(#"W/"1""#, #"W/"1""#, true), tags(#"W/"1""#, #"W/"2""#, false),
    tags(#"w/"1""#, #""1""#, false), tags(#"W /"1""#, #""1""#, false),
    // Lists, with blanks and empty members.
    tags(#""1", "2""#, #""2""#, true), tags(#""1","2""#, #""2""#, true),
    tags(#" , "1" ,,\#t"2" , "#, #""2""#, true), tags(#""1", "2""#, #""3""#, false),
    tags(",", #""1""#, false), tags("", #""1""#, false), tags("", #""""#, false),
    // Commas, stars and backslashes in a tag mean nothing.
    tags(#""a,b""#, #""a,b""#, true), tags(#""a,b""#, #""b""#, false),
    tags(#""*""#, #""1""#, false), tags(#""*""#, #""*""#, true),
    tags(#""\", "1""#, #""1""#, true), tags(#""\""#, #""\""#, true),
    tags(#""""#, #""""#, true), tags(#""caf\#u{e9}""#, #""caf\#u{e9}""#, true),
    tags(#""caf\#u{e9}""#, #""cafe\#u{301}""#, false),
    // A list that cannot be read has no tag in it.
    tags("1", "1", false), tags("1", #""1""#, false), tags(#""1"#, #""1""#, false),
    tags(#""1" "2""#, #""1""#, false), tags(#""1", 2"#, #""1""#, false),
    tags(#"x"1", "2""#, #""2""#, false), tags(#""a b""#, #""a b""#, false),
    tags(#""1";q=1"#, #""1""#, false), tags("W", #""1""#, false), tags("W/", #""1""#, false),
    // Nor is there one in the answer.
    tags(#""1""#, "1", false), tags(#""1""#, #""1"x"#, false), tags(#""1""#, #""1", "1""#, false),
    Row("no tag is stored", [("if-none-match", #""1""#)], [], false),
    Row(
      "a tag of the second line", [("if-none-match", #""1""#), ("if-none-match", #""2""#)],
      [("etag", #""2""#)], true),
    Row(
      "a second line that cannot be read", [("if-none-match", #""1""#), ("if-none-match", "2")],
      [("etag", #""1""#)], false),
    // Any version.
    tags("*", #""1""#, true), tags(" * ", #""1""#, true), tags(#"*, "1""#, #""1""#, false),
    Row("any version, without a tag", [("if-none-match", "*")], [], true),
    Row(
      "a star is alone", [("if-none-match", "*"), ("if-none-match", "*")], [("etag", #""1""#)],
      false),
  ]

  static let dateRows = [
    since("changed at that time", middle, [("last-modified", middle)], true),
    since("changed before", middle, [("last-modified", early)], true),
    since("changed since", middle, [("last-modified", late)], false),
    since("sent then", middle, [("date", middle)], true),
    since("sent later", early, [("date", middle)], false),
    since("Last-Modified before Date", middle, [("date", late), ("last-modified", early)], true),
    since("Date is not asked", middle, [("date", early), ("last-modified", late)], false),
    since("received then", middle, [], true), since("received later", early, [], false),
    since("a Last-Modified that is none", middle, [("last-modified", "x"), ("date", late)], false),
    since("the old form", "Tuesday, 01-Jul-25 10:00:01 GMT", [("last-modified", middle)], true),
    since("asctime", "Tue Jul  1 10:00:01 2025", [("last-modified", middle)], true),
    since("no date", "yesterday", [("last-modified", early)], false),
    since("an empty date", "", [("last-modified", early)], false),
    since("two dates", "\(middle), \(middle)", [("last-modified", early)], false),
    Row(
      "two lines of dates", [("if-modified-since", middle), ("if-modified-since", middle)],
      [("last-modified", early)], false),
    Row(
      "a date beside a tag does not count",
      [("if-none-match", #""1""#), ("if-modified-since", late)],
      [("etag", #""2""#), ("last-modified", early)], false),
    Row(
      "nor beside a tag that cannot be read",
      [("if-modified-since", late), ("if-none-match", "1")], [("last-modified", early)], false),
    Row(
      "a tag beside a date", [("if-none-match", #""1""#), ("if-modified-since", early)],
      [("etag", #""1""#), ("last-modified", late)], true),
    // Those that are for the origin.
    Row("If-Match", [("if-match", #""1""#)], [("etag", #""1""#)], false),
    Row(
      "If-Unmodified-Since", [("if-unmodified-since", early)], [("last-modified", early)], false),
    Row(
      "If-None-Match beside If-Match", [("if-match", #""2""#), ("if-none-match", #""1""#)],
      [("etag", #""1""#)], true),
    Row("no condition", [("accept", #""1""#)], [("etag", #""1""#)], false),
  ]

  private func isCovered(_ row: Row, status: Int = 200) -> Bool {
    let condition = ClientCondition(row.sent, now: Self.received)
    let response = StoredResponse(status: status, headers: row.stored)
    return condition?.covers(response, receivedAt: Self.received) ?? false
  }

  @Test(arguments: tagRows.indices)
  func `tags are compared as RFC 9110 has it (13.1.2)`(index: Int) {
    let row = Self.tagRows[index]
    #expect(isCovered(row) == row.isCovered, "\(row.name)")
  }

  @Test(arguments: dateRows.indices)
  func `dates are compared as RFC 9110 and 9111 have it (13.1.3, 4.3.2)`(index: Int) {
    let row = Self.dateRows[index]
    #expect(isCovered(row) == row.isCovered, "\(row.name)")
  }

  @Test(arguments: [(200, true), (203, true), (301, false), (404, false), (501, false)])
  func `only an answer with success has a version`(status: Int, isCovered: Bool) {
    for row in [Self.tags("*", #""1""#, true), Self.tags(#""1""#, #""1""#, true)] {
      #expect(self.isCovered(row, status: status) == isCovered)
    }
  }

  /// Tags of sixty kilobytes that have been cut anywhere.
  @Test func `a list is read in one pass, wherever it ends`() {
    let list = String(repeating: #"W/"12345","#, count: 6_000) + #""1""#
    #expect(isCovered(Self.tags(list, #""1""#, true)))
    let whole = #"W/"12", "1""#
    for count in 0..<whole.utf8.count {
      let row = Self.tags(String(whole.prefix(count)), #""1""#, false)
      #expect(!isCovered(row), "\(row.name)")
    }
  }
}
