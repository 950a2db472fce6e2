import Testing

@testable import ImgdGateway

/// Conditions and parts, over a picture of 100 bytes with a tag and the date 2025-07-01 10:00:00.
struct ConditionsTests {
  private static let tag = "\"00112233445566aa\""
  private static let date = "Tue, 01 Jul 2025 10:00:00 GMT"
  private static let before = "Tue, 01 Jul 2025 09:59:59 GMT"
  private static let after = "Tue, 01 Jul 2025 10:00:01 GMT"

  private func ask(
    _ sent: [(String, String)], _ method: HTTPMethod = .get,
    modified: String = "2025-07-01T10:00:00Z"
  ) throws -> PlannedExchange {
    let lent = modified.isEmpty ? "" : #","modified":"\#(modified)""#
    return try PictureStage().ask(method, sent, lent: lent)
  }

  @Test(
    arguments: [
      ([("If-None-Match", tag)], 304), ([("If-None-Match", "W/" + tag)], 304),
      ([("If-None-Match", "\"x\", " + tag)], 304), ([("If-None-Match", "*")], 304),
      ([("If-None-Match", "\"x\""), ("If-None-Match", tag)], 304),
      ([("If-None-Match", "\"x\"")], 200), ([("If-None-Match", "00112233445566aa")], 200),
      ([("If-None-Match", tag + " x")], 200), ([("If-None-Match", "")], 200),
      ([("If-Modified-Since", date)], 304), ([("If-Modified-Since", after)], 304),
      ([("If-Modified-Since", "Tuesday, 01-Jul-25 10:00:00 GMT")], 304),
      ([("If-Modified-Since", "Tue Jul  1 10:00:00 2025")], 304),
      ([("If-Modified-Since", before)], 200), ([("If-Modified-Since", "2025-07-01")], 200),
      ([("If-Modified-Since", date), ("If-Modified-Since", date)], 200),
      // If-Modified-Since does not count beside If-None-Match.
      ([("If-None-Match", "\"x\""), ("If-Modified-Since", date)], 200),
      ([("If-None-Match", "x"), ("If-Modified-Since", date)], 200),
      ([("If-None-Match", tag), ("If-Modified-Since", before)], 304),
      ([("If-Match", tag)], 200), ([("If-Match", "*")], 200),
      ([("If-Match", "\"x\", \(tag)")], 200), ([("If-Match", "W/" + tag)], 412),
      ([("If-Match", "\"x\"")], 412), ([("If-Match", "x")], 412),
      ([("If-Unmodified-Since", date)], 200), ([("If-Unmodified-Since", after)], 200),
      ([("If-Unmodified-Since", before)], 412), ([("If-Unmodified-Since", "then")], 200),
      ([("If-Match", tag), ("If-Unmodified-Since", before)], 200),
      ([("If-Match", tag), ("If-None-Match", tag)], 304),
      ([("If-Match", "\"x\""), ("If-None-Match", tag)], 412),
    ] as [([(String, String)], Int)])
  func `conditions are judged in their order`(sent: [(String, String)], status: Int) throws {
    #expect(try ask(sent).status == status)
    #expect(try ask(sent, .head).status == status)
    // The range comes last.
    let part = try ask(sent + [("Range", "bytes=0-9")])
    #expect(part.status == (status == 200 ? 206 : status))
  }

  @Test(
    arguments: [
      ([("If-Modified-Since", date)], 200), ([("If-Unmodified-Since", before)], 200),
      ([("If-None-Match", tag)], 304), ([("Range", "bytes=0-9"), ("If-Range", date)], 200),
    ] as [([(String, String)], Int)])
  func `a date of a picture without one counts for nothing`(
    sent: [(String, String)], status: Int
  ) throws {
    #expect(try ask(sent, modified: "").status == status)
  }

  @Test(
    arguments: [
      (tag, 206), (date, 206), ("W/" + tag, 200), ("\"x\"", 200), (before, 200), (after, 200),
      ("x", 200), ("", 200),
    ])
  func `a part goes to those who have the rest of the same picture`(
    value: String, status: Int
  ) throws {
    let answer = try ask([("Range", "bytes=10-19"), ("If-Range", value)])
    #expect(answer.status == status)
    #expect(answer.part == (status == 206 ? 10..<20 : 0..<100))
  }

  @Test func `several fields, and a date of this second, permit no part`() throws {
    let sent = [("Range", "bytes=0-9"), ("If-Range", Self.tag), ("If-Range", Self.tag)]
    #expect(try ask(sent).status == 200)
    let now = [("Range", "bytes=0-9"), ("If-Range", "Thu, 01 Jan 2026 00:00:00 GMT")]
    #expect(try ask(now, modified: "2026-01-01T00:00:00Z").status == 200)
    let earlier = [("Range", "bytes=0-9"), ("If-Range", "Wed, 31 Dec 2025 23:59:59 GMT")]
    #expect(try ask(earlier, modified: "2025-12-31T23:59:59Z").status == 206)
  }

  @Test func `a part has its place, and the fields of the whole`() throws {
    let part = try ask([("Range", "bytes=10-19")])
    #expect(part.status == 206 && part.part == 10..<20)
    #expect(part["Content-Range"] == "bytes 10-19/100")
    #expect(part["ETag"] == Self.tag && part["Content-Type"] == "image/png")
    #expect(part["Last-Modified"] == Self.date && part["Cache-Control"] == "public, max-age=60")
  }

  @Test func `a part behind the end is refused with the length`() throws {
    let refusal = try ask([("Range", "bytes=100-")])
    #expect(refusal.status == 416 && refusal["Content-Range"] == "bytes */100")
    #expect(refusal.text?.contains("range_not_satisfiable") == true)
  }

  @Test func `no part is sent where none may be`() throws {
    let head = try ask([("Range", "bytes=10-19")], .head)
    #expect(head.status == 200 && head.part == 0..<100)
    #expect(try ask([("Range", "bytes=0-1,5-6")]).status == 200)
  }

  @Test func `an answer to one who has the picture has only what caches need`() throws {
    let known = try ask([("If-None-Match", Self.tag)])
    let names = known.answers[0].fields.map(\.name).sorted()
    #expect(names == ["Age", "Cache-Control", "Cache-Status", "ETag", "Last-Modified"])
    #expect(known.text == nil)
  }
}
