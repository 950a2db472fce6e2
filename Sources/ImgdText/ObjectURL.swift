/// A URL of an object in a bucket, `s3://bucket/key?query`, in the one spelling that a key has.
package struct ObjectURL: Hashable, Sendable {
  package static let scheme = "s3"

  package let bucket: String
  /// The key, encoded, with the slash in front of it. Its dots and slashes are part of the name, wherever they are.
  package let path: String
  /// The parameters, encoded, without their question mark.
  package let query: String?

  package var text: String { "\(Self.scheme)://\(bucket)\(target)" }
  /// All that follows the bucket.
  package var target: String { path + (query.map { "?\($0)" } ?? "") }

  /// Reads a text that begins with the scheme; a fragment is dropped.
  package init(_ text: String) throws(ObjectURLProblem) {
    let whole = text.utf8.prefix { $0 != UInt8(ascii: "#") }
    let beginning = "\(Self.scheme)://".utf8.count
    guard Substring(whole.prefix(beginning)).lowercased() == "\(Self.scheme)://" else {
      throw ObjectURLProblem("the URL of an object is s3://bucket/key")
    }
    let rest = whole.dropFirst(beginning)
    let name = rest.prefix { !"/?".utf8.contains($0) }
    let path = rest.dropFirst(name.count).prefix { $0 != UInt8(ascii: "?") }
    let query = rest.dropFirst(name.count + path.count + 1)
    bucket = String(Substring(name))
    if let problem = BucketName.problem(of: bucket) { throw ObjectURLProblem(problem) }
    guard path.count > 1 else { throw ObjectURLProblem("the URL names no object: write s3://\(bucket)/key") }
    if let offset = PercentEncoding.firstBareSign(in: Substring(rest)) {
      let place = beginning + offset
      throw ObjectURLProblem("the URL has a % at byte \(place) without two hexadecimal digits: write it as %25")
    }
    self.path = PercentEncoding.oneSpelling(of: Substring(path), keepingSlashes: true)
    self.query = Self.spelling(of: query)
  }

  private static func spelling(of query: Substring.UTF8View) -> String? {
    let parameters = query.split(separator: UInt8(ascii: "&")).map { parameter in
      let name = parameter.prefix { $0 != UInt8(ascii: "=") }
      let spelling = PercentEncoding.oneSpelling(of: Substring(name))
      guard name.count < parameter.count else { return spelling }
      return spelling + "=" + PercentEncoding.oneSpelling(of: Substring(parameter.dropFirst(name.count + 1)))
    }
    return parameters.isEmpty ? nil : parameters.joined(separator: "&")
  }
}

/// Why a text is not the URL of an object.
package struct ObjectURLProblem: Error, Equatable {
  /// A sentence that names what is wrong and what would be right.
  package let reason: String

  init(_ reason: String) { self.reason = reason }
}

/// The names that buckets may have, as AWS gives them out. Each is also a part of a host's name, or of a path.
package enum BucketName {
  private static let lengths = 3...63

  /// What is wrong with a name; nil if a bucket may have it.
  package static func problem(of name: String) -> String? {
    let bytes = Array(name.utf8)
    guard lengths.contains(bytes.count) else {
      return "the name of a bucket has \(lengths.lowerBound) to \(lengths.upperBound) characters, not \(bytes.count)"
    }
    guard bytes.allSatisfy({ isAlphanumeric($0) || ".-".utf8.contains($0) }) else {
      return "the name of a bucket has lower-case letters, digits, hyphens and dots, and nothing else"
    }
    guard let first = bytes.first, let last = bytes.last, isAlphanumeric(first), isAlphanumeric(last) else {
      return "the bucket '\(name)' has to begin and end with a letter or a digit"
    }
    let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard !labels.contains(where: { $0.isEmpty }) else { return "the bucket '\(name)' has two dots beside each other" }
    let isAddress = labels.count == 4 && labels.allSatisfy { $0.allSatisfy { decimalValue($0) != nil } }
    return isAddress ? "the bucket '\(name)' looks like an address" : nil
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "a") < 26 || decimalValue(byte) != nil
  }
}
