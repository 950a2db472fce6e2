// The sections `[Origin PATTERN]`: how their names and the values of their keys are written.

import ImgdCache
package import ImgdProgram
import ImgdSystem
import ImgdText
import ImgdTransfer

extension Configuration {
  package static let namedSections = [
    NamedSections(.origin, \Configuration.origins, usual: Origin(), originKeys)
  ]

  static let originKeys: [ConfigurationKey<Origin>] = [
    ConfigurationKey(
      .origin, "Key", \.key, .optional(.queryRule),
      "Which parameters of a URL are part of a picture's key: all without some, or only some."),
    ConfigurationKey(
      .origin, "HeaderFile", \.headerFile, .secretFile,
      "A file with header fields for every request, such as credentials of the machine."),
    ConfigurationKey(
      .origin, "CredentialsFile", \.credentialsFile, .secretFile,
      "A file with the keys that sign requests for a bucket, as AWS's tools share it."),
    ConfigurationKey(
      .origin, "Endpoint", \.endpoint, .optional(.bucketEndpoint),
      "The service that has a bucket, such as http://127.0.0.1:9000; empty for AWS."),
    ConfigurationKey(
      .origin, "Region", \.region, .optional(.bucketRegion),
      "The region of a bucket, if it is another one than us-east-1."),
    ConfigurationKey(
      .origin, "MaxActive", \.maxActive, .optional(.count(1...10_000)),
      "How many downloads run at once from each host, instead of MaxPerHost."),
    ConfigurationKey(
      .origin, "Rate", \.rate, .optional(.downloadRate), "How often a download begins at each host, such as 20/s."),
    ConfigurationKey(
      .origin, "Bandwidth", \.bandwidth, .optional(.size(1_024...1 << 40)),
      "How many bytes a second come from each host, all its downloads together, such as 5M."),
    ConfigurationKey(
      .origin, "Proxy", \.proxy, .optional(.proxy),
      "The proxy for these origins: none, http://host:port or socks5h://host:port."),
    ConfigurationKey(
      .origin, "MinFresh", \.minFresh, .optional(.duration(.seconds(1)...(.seconds(10 * 365 * 86_400)))),
      "How long a picture is fresh at least, whatever its origin says about that."),
    ConfigurationKey(
      .origin, "Fallback", \.fallback, .optional(.fallbackURL),
      "A URL with {path} that is fetched if the origin cannot be reached or is in trouble."),
    ConfigurationKey(
      .origin, "TagFields", \.tagFields, .fieldNames,
      "Header fields of answers that have tags, such as Surrogate-Key, Cache-Tag or xkey."),
  ]
}

extension ValueFormat {
  /// A value, or nothing; an empty value always means the default.
  static func optional<Wrapped>(_ format: ValueFormat<Wrapped>) -> Self where Value == Wrapped? {
    Self { text throws(WrongValue) in
      try format.parse(text)
    } text: {
      $0.map(format.text) ?? ""
    }
  }
}

extension ValueFormat where Value == String {
  /// An absolute path, or the name of a credential that the service manager passes.
  static var secretFile: Self {
    Self { text throws(WrongValue) in
      if text.hasPrefix("/") { return try path(longest: 4_095).parse(text) }
      guard !text.contains("/"), !text.hasPrefix("."), text.utf8.count <= 255 else {
        throw WrongValue("is neither an absolute path nor the name of a credential of the service")
      }
      return try plain(text, longest: 255)
    } text: {
      $0
    }
  }
}

extension ValueFormat where Value == String {
  /// The name of a region, as services give it.
  static var bucketRegion: Self {
    Self { text throws(WrongValue) in
      guard BucketPlace.isRegion(text) else { throw WrongValue("is not a region: write one such as eu-central-1") }
      return text
    } text: {
      $0
    }
  }
}

extension ValueFormat where Value == BucketEndpoint {
  /// The URL of a service, without a path.
  static var bucketEndpoint: Self {
    Self { text throws(WrongValue) in
      guard let endpoint = BucketEndpoint(text) else {
        throw WrongValue("is not an endpoint: write http://host or https://host, with or without :port")
      }
      return endpoint
    } text: {
      $0.text
    }
  }
}

extension ValueFormat where Value == DownloadRate {
  /// A number of beginnings in a second or a minute.
  static var downloadRate: Self {
    Self { text throws(WrongValue) in
      let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 2, let count = decimalNumber(parts[0].utf8),
        let unit = DownloadRate.Unit(rawValue: parts[1]),
        (1...10_000).contains(count)
      else { throw WrongValue("is not a rate: write 1/s to 10000/s, or 1/min to 10000/min") }
      return DownloadRate(count, each: unit)
    } text: {
      "\($0.count)/\($0.unit.rawValue)"
    }
  }
}

extension ValueFormat where Value == FallbackURL {
  /// A URL with one place for a path.
  static var fallbackURL: Self {
    Self { text throws(WrongValue) in
      guard let url = FallbackURL(try ValueFormat<String>.plain(text, longest: 1_024)) else {
        throw WrongValue("is not a URL with {path} once: write one such as https://mirror.example.net{path}")
      }
      return url
    } text: {
      $0.text
    }
  }
}

extension ValueFormat where Value == QueryRule {
  private static var mostNames: Int { 64 }

  /// `without` or `only`, and names of parameters.
  static var queryRule: Self {
    Self { text throws(WrongValue) in
      let words = items(of: try ValueFormat<String>.plain(text, longest: 4_096))
      guard let kind = QueryRule.Kind(rawValue: words[0]) else {
        throw WrongValue("begins with neither word: write without or only, and the names of parameters")
      }
      let names = Array(words.dropFirst())
      guard kind == .only || !names.isEmpty else {
        throw WrongValue("names no parameter: write without X-Amz-* Signature, for example")
      }
      guard names.count <= mostNames else { throw WrongValue("has too many names: write at most \(mostNames)") }
      if let wrong = names.first(where: { $0.utf8.dropLast().contains(UInt8(ascii: "*")) }) {
        throw WrongValue("contains '\(shown(wrong))': a * stands at the end of a name alone")
      }
      return QueryRule(kind, names)
    } text: {
      ([$0.kind.rawValue] + $0.names).joined(separator: " ")
    }
  }
}

extension ValueFormat where Value == [OriginPattern] {
  /// Patterns of origins, as sections have them, separated by blanks or commas.
  static var originPatterns: Self {
    Self { text throws(WrongValue) in
      try items(of: text).map { word throws(WrongValue) in
        do throws(WrongValue) { return try OriginPattern(word) } catch {
          throw WrongValue("contains '\(shown(word))', which \(error.complaint)")
        }
      }
    } text: {
      $0.map(\.text).joined(separator: " ")
    }
  }
}

extension OriginPattern: SectionName {
  /// Reads `host`, `*.host`, either with `:port`, and with `http://` or `https://` before it; or `s3://bucket`.
  package init(_ text: String) throws(WrongValue) {
    if text.hasPrefix(CanonicalURL.Scheme.s3.beginning) {
      let bucket = String(text.dropFirst(CanonicalURL.Scheme.s3.beginning.utf8.count))
      if let problem = BucketName.problem(of: bucket) { throw WrongValue("is not s3://bucket: \(problem)") }
      self.init(host: bucket, scheme: .s3)
      return
    }
    let text = text.lowercased()
    let scheme = [CanonicalURL.Scheme.http, .https].first { text.hasPrefix($0.beginning) }
    var rest = text.dropFirst(scheme?.beginning.utf8.count ?? 0)
    let isOfSubdomains = rest.hasPrefix("*.")
    if isOfSubdomains { rest = rest.dropFirst(2) }
    // What is left must be a host, and nothing of a URL besides. `0.` is a name, but `0`, as which it would be shown, is an
    // address.
    guard rest.utf8.allSatisfy({ !"/?#@\\".utf8.contains($0) }), rest.utf8.last != UInt8(ascii: ":"),
      rest.utf8.first != UInt8(ascii: "."), !rest.contains(".."),
      let url = try? CanonicalURL.parse((scheme ?? .http).beginning + rest + "/"),
      case let host = url.host.withoutRoot, (try? CanonicalURL.parse(url.scheme.beginning + host))?.host == host
    else {
      throw WrongValue(
        "is not a pattern of origins: write a host such as example.org, *.example.org for those below it, "
          + "https://example.org:8443, or s3://bucket")
    }
    let hasPort = rest.utf8.last != UInt8(ascii: "]") && rest.utf8.contains(UInt8(ascii: ":"))
    self.init(
      host: host, isOfSubdomains: isOfSubdomains, scheme: scheme,
      port: hasPort || scheme != nil ? url.port : nil)
  }

  package var text: String {
    let usual = scheme.map { $0 == .https ? 443 : 80 }
    return (scheme?.beginning ?? "") + (isOfSubdomains ? "*." : "") + host
      + (port == usual ? "" : port.map { ":\($0)" } ?? "")
  }
}
