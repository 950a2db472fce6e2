internal import ImgdText
internal import ImgdSystem

/// The header fields of an answer about a picture.
struct PictureHeaders {
  typealias Fields = [(name: String, value: String)]

  let facts: PictureFacts
  /// Fields that every answer to this request has.
  let own: Fields
  /// How long the target stays valid at most, in seconds.
  var mostFresh: Int?

  /// The fields for the whole picture.
  var whole: Fields {
    [
      ("Content-Type", facts.type), ("Accept-Ranges", "bytes"), ("X-Content-Type-Options", "nosniff"),
      // Protects people who open the picture on its own.
      ("Content-Security-Policy", "default-src 'none'; sandbox"), ("Content-Disposition", "inline"),
    ] + known
  }

  /// The fields for a part of it.
  func part(_ range: Range<Int>) -> Fields {
    whole + [("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(facts.bytes)")]
  }

  /// The fields for a client that has the picture (RFC 9110, 15.4.5).
  var known: Fields {
    var fields: Fields = [("Cache-Control", lifetime), ("Age", String(facts.age))]
    if let tag = facts.tag { fields.append(("ETag", tag)) }
    if let modified = facts.modified { fields.append(("Last-Modified", HTTPDate.text(modified))) }
    return fields + own
  }

  /// `max-age` counts from the origin's answer, as `Age` does.
  private var lifetime: String {
    guard facts.mayBeKept else { return "no-store" }
    let freshFor = min(facts.freshFor, max(mostFresh ?? .max, 0))
    return "public, max-age=\(facts.age + freshFor)"
  }

  // MARK: Answers

  /// The whole picture, from a file that holds nothing else.
  func wholeResponse(_ file: consuming FileDescriptor?) -> HTTPResponse { response(200, whole, file, 0..<facts.bytes) }

  func partResponse(_ range: Range<Int>, _ file: consuming FileDescriptor?) -> HTTPResponse {
    response(206, part(range), file, range)
  }

  var notModifiedResponse: HTTPResponse { HTTPResponse(status: 304, fields: known, body: .length(facts.bytes)) }

  private func response(_ status: Int, _ fields: Fields, _ file: consuming FileDescriptor?, _ range: Range<Int>)
    -> HTTPResponse
  {
    guard let file = consume file else { preconditionFailure("an answer takes the picture once") }
    return HTTPResponse(status: status, fields: fields, body: .file(range), of: file)
  }
}
