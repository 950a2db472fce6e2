import Testing

@testable import ImgdTransfer

struct StrongValidatorTests {
  private static let noon = "Fri, 02 Jan 2026 12:00:00 GMT"

  private func validator(_ fields: [String]) -> StrongValidator? {
    StrongValidator(of: .collected(200, fields))
  }

  @Test(arguments: ["\"\"", "\"1\"", "\"a-b_c/d\"", "\"W/\"", "\"!#$~\""])
  func `a strong validator is a tag that is not weak`(tag: String) {
    #expect(validator(["ETag: \(tag)"])?.text == tag)
    #expect(validator(["ETag: \(tag)", "Last-Modified: \(Self.noon)"])?.text == tag)
  }

  @Test(arguments: [
    "W/\"1\"", "w/\"1\"", "", "\"", "1", "\"1", "1\"", "\"a\"b\"", "\"a b\"", "\"a\tb\"", "'1'",
    "\"é\"", "\"1\", \"2\"", "*",
  ])
  func `a weak tag is no strong validator, even with a date`(tag: String) {
    let rest = ["Last-Modified: Thu, 01 Jan 2026 12:00:00 GMT", "Date: \(Self.noon)"]
    #expect(validator(["ETag: \(tag)"] + rest) == nil)
  }

  @Test(arguments: [
    ("Fri, 02 Jan 2026 11:59:00 GMT", true), ("Thu, 01 Jan 1970 00:00:00 GMT", true),
    ("Fri, 02 Jan 2026 11:59:01 GMT", false), ("Fri, 02 Jan 2026 12:00:00 GMT", false),
    ("Fri, 02 Jan 2026 12:05:00 GMT", false), ("yesterday", false), ("", false), ("0", false),
    ("Fri, 31 Dec 9999 00:00:00 GMT", false), ("Fri, 02 Jan 99999999999 11:59:00 GMT", false),
  ])
  func `a strong validator is a date at least a minute before the answer`(
    modified: String, isStrong: Bool
  ) {
    let found = validator(["Last-Modified: \(modified)", "Date: \(Self.noon)"])
    #expect(found?.text == (isStrong ? modified : nil))
    #expect(validator(["Last-Modified: \(modified)"]) == nil)
    #expect(validator(["Last-Modified: \(modified)", "Date: soon"]) == nil)
  }

  @Test(arguments: [
    (["ETag: \"1\""], true), (["ETag: \"1\"", "Last-Modified: x"], true),
    (["ETag: \"2\""], false), (["ETag: W/\"1\""], false), ([], false),
    (["Last-Modified: \(noon)"], false),
  ])
  func `a strong validator that is a tag holds for a response that repeats it`(
    fields: [String], holds: Bool
  ) throws {
    let known = try #require(validator(["ETag: \"1\""]))
    #expect(known.holds(for: .collected(206, fields)) == holds)
  }

  @Test(arguments: [
    ([], true), (["Last-Modified: \(noon)"], true),
    (["Last-Modified: Fri, 02 Jan 2026 12:00:01 GMT"], false), (["ETag: \"1\""], false),
  ])
  func `a strong validator that is a date holds unless the response has another`(
    fields: [String], holds: Bool
  ) throws {
    let known = try #require(
      validator(["Last-Modified: \(Self.noon)", "Date: Fri, 02 Jan 2026 13:00:00 GMT"]))
    #expect(known.holds(for: .collected(206, fields)) == holds)
  }
}

extension HeadCollector {
  /// A complete head with these lines.
  static func collected(_ status: Int, _ fields: [String]) -> HeadCollector {
    var head = HeadCollector()
    for line in ["HTTP/1.1 \(status) Status"] + fields + [""] {
      _ = head.add(Array(line.utf8).span)
    }
    return head
  }
}
