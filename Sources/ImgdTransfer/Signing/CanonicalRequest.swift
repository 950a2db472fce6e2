// Signature Version 4, as Amazon S3 and services like it check it.
//
//   a request ──→ CanonicalRequest ──→ digest, time and scope ──→ a signature, in the field Authorization
//                 in one spelling                            ▲
//   a secret ───→ SigningKey, for one day and region ────────┘
//
// S3 reads paths in its own way: it encodes them once, and every segment is part of the key's name, empty ones and dots
// as well. AWS's other services encode twice and take such segments out.

import Glibc
internal import ImgdText

/// A request in the one spelling that both ends sign.
struct CanonicalRequest {
  /// The SHA-256 of no body, as a GET has it.
  static let digestOfNothing = SHA256Digest(of: "").hex

  let text: String
  /// The names of the fields that are signed, as the signature lists them.
  let signedNames: String

  /// All of the fields are signed.
  init(
    method: String = "GET", path: Substring, query: Substring?, fields: [HeaderField],
    bodyDigest: String = digestOfNothing
  ) {
    let lines = Self.lines(fields)
    signedNames = lines.map(\.name).joined(separator: ";")
    text = """
      \(method)
      \(PercentEncoding.oneSpelling(of: path, keepingSlashes: true))
      \(Self.sorted(query ?? ""))
      \(lines.map { "\($0.name):\($0.value)\n" }.joined())
      \(signedNames)
      \(bodyDigest)
      """
  }

  /// Sorted by name, and then by value, both encoded.
  private static func sorted(_ query: Substring) -> String {
    let parameters = query.split(separator: "&").map { parameter in
      let name = parameter.prefix { $0 != "=" }
      return (
        PercentEncoding.oneSpelling(of: name), PercentEncoding.oneSpelling(of: parameter.dropFirst(name.count + 1))
      )
    }
    return parameters.sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
  }

  /// One line for each name, in lower case and in their order; the values of a name that is repeated stay in theirs.
  private static func lines(_ fields: [HeaderField]) -> [HeaderField] {
    let values = Dictionary(grouping: fields) { $0.name.lowercased() }
    return values.sorted { $0.key < $1.key }.map { name, fields in
      HeaderField(name, fields.map { trimmed($0.value) }.joined(separator: ","))
    }
  }

  /// Without blanks around it, and with single ones inside.
  private static func trimmed(_ value: String) -> String {
    value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
  }
}

/// The moment of a signature.
struct SigningMoment {
  /// In the form `20150830T123600Z`.
  let stamp: String
  /// In the form `20150830`.
  var day: Substring { stamp.prefix(8) }

  init(_ seconds: Int64) {
    var moment = time_t(seconds)
    var parts = unsafe tm()
    // Fills the parts from a number, without a time zone.
    _ = unsafe gmtime_r(&moment, &parts)
    let date = unsafe [(1900 + parts.tm_year, 4), (parts.tm_mon + 1, 2), (parts.tm_mday, 2)]
    let time = unsafe [(parts.tm_hour, 2), (parts.tm_min, 2), (parts.tm_sec, 2)]
    stamp = "\(Self.digits(date))T\(Self.digits(time))Z"
  }

  private static func digits(_ numbers: [(Int32, Int)]) -> String {
    numbers.map { number, width in
      let digits = String(number)
      return String(repeating: "0", count: max(width - digits.utf8.count, 0)) + digits
    }.joined()
  }
}
