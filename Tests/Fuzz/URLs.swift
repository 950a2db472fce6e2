@testable import ImgdCache
@testable import ImgdGateway
@testable import ImgdText
@testable import ImgdTransfer

extension FuzzTarget {
  /// URLs: one spelling for each, and one host, whoever reads them. The gateway admits a host, the cache has a key, curl
  /// connects: they must not disagree.
  static let urls = FuzzTarget(
    "urls",
    of: [
      "ImgdCache/Key/CanonicalURL.swift", "ImgdCache/Key/URLReading.swift", "ImgdCache/Key/QueryRule.swift",
      "ImgdCache/Key/URLPart.swift", "ImgdText/ObjectURL.swift", "ImgdText/PercentEncoding.swift",
      "ImgdTransfer/Network/TransferURL.swift", "ImgdGateway/Requests/SourceURL.swift",
    ], longest: 256
  ) { bytes in
    var choices = Choices(bytes)
    let text = String(decoding: choices.line(), as: UTF8.self)
    let other = String(decoding: choices.line(), as: UTF8.self)
    if CanonicalURL.isCanonical(text) {
      let read = try? URLReading(text).canonical()
      expect(read?.text == text, "curl reads what looks canonical in the same way")
    }
    if let url = try? CanonicalURL.parse(text) {
      switch bytes.count % 3 {
      case 0:
        checkSpelling(url)
        checkHost(url, of: text)
      case 1:
        checkRule(url, choices)
        checkPart(url, other)
      default: checkRedirect(url, to: other)
      }
    }
    if bytes.count % 3 == 0 { checkSource(Array(text.utf8)) }
    let spelling = PercentEncoding.oneSpelling(of: text)
    expect(PercentEncoding.oneSpelling(of: spelling) == spelling, "an encoded text has one spelling")
  }

  private static func checkSpelling(_ url: CanonicalURL) {
    expect((try? CanonicalURL.parse(url.text)) == url, "the one form of a URL is its own")
    expect(url.text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x23 }, "it is visible ASCII without a fragment")
    expect(url.text.utf8.count <= CanonicalURL.longest, "it is short enough")
    expect(!url.host.isEmpty && url.host == url.host.lowercased(), "its host is in lower case")
    expect(url.pathAndQuery.utf8.first == UInt8(ascii: "/"), "its path is never empty")
    expect(url.hasSameOrigin(as: url), "it has its own origin")
    let text = url.scheme.beginning + url.host + "…"
    expect(url.text.utf8.starts(with: text.utf8.dropLast(3)), "its host follows its scheme")
  }

  /// Where a request goes, by the text that a client has sent and by the one form.
  private static func checkHost(_ url: CanonicalURL, of text: String) {
    guard url.scheme != .s3 else {
      expect((try? ObjectURL(url.text))?.bucket == url.host, "a bucket stands for the host")
      return
    }
    let admitted = URLHost(of: url.text)
    if let admitted { expect(admitted.name == url.host.withoutRoot, "the gateway judges the host of the key") }
    guard let transfer = try? TransferURL(url.text) else { fatalError("a URL of a key can be requested") }
    expect(transfer.host == url.host && Int(transfer.port) == url.port, "curl connects to the host of the key")
    expect(transfer.isEncrypted == url.isSecure, "and in the same way")
    let beside = transfer.neighbour(url.text + "x")
    if let beside {
      let read = try? TransferURL(url.text + "x")
      expect(beside.text == read?.text && beside.host == read?.host, "a neighbour is read as curl would")
    }
  }

  private static func checkRule(_ url: CanonicalURL, _ choices: Choices) {
    let names = choices.rest.split(separator: 0x2C).prefix(4).map { String(decoding: $0, as: UTF8.self) }
    for kind in QueryRule.Kind.allCases {
      let rule = QueryRule(kind, names)
      let key = rule.key(of: url)
      expect(rule.key(of: key) == key, "the URL of a key has itself as its key")
      expect(key.hasSameOrigin(as: url) && key.text.utf8.count <= url.text.utf8.count, "parameters alone go")
      expect((try? CanonicalURL.parse(key.text)) == key, "a key's URL is in its one form")
    }
  }

  private static func checkPart(_ url: CanonicalURL, _ part: String) {
    let (whole, sought) = (lowered(url.text), lowered(part))
    let isThere =
      sought.isEmpty
      || whole.count >= sought.count
        && (0...whole.count - sought.count).contains { whole[$0..<$0 + sought.count].elementsEqual(sought) }
    expect(URLPart(part).isIn(url.text.utf8.span) == isThere, "a part is found where it is")
  }

  private static func lowered(_ text: String) -> [UInt8] { text.utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 } }

  private static func checkRedirect(_ url: CanonicalURL, to location: String) {
    guard let base = try? TransferURL(url.text), let target = try? base.following(location) else { return }
    expect(!target.text.utf8.contains(0x23) && !target.host.isEmpty, "a redirect leads to a host")
    expect(target.text.hasPrefix(target.isEncrypted ? "https://" : "http://"), "by a scheme that is fetched")
    let authority = target.text.utf8.dropFirst(target.isEncrypted ? 8 : 7).prefix { $0 != 0x2F && $0 != 0x3F }
    expect(!authority.contains(0x40), "without a user")
    expect((try? TransferURL(target.text))?.origin == target.origin, "which is the same when it is read again")
    if let next = try? CanonicalURL.parse(target.text) {
      expect(next.host == target.host && String(next.port) == target.port, "and to the host of its key")
    }
  }

  /// What the gateway passes on is fetched from the host that it has admitted.
  private static func checkSource(_ bytes: [UInt8]) {
    guard let source = try? SourceURL(bytes) else { return }
    expect(source.text.utf8.allSatisfy { 0x21...0x7E ~= $0 }, "what is passed on is visible ASCII")
    if let again = try? SourceURL(Array(source.text.utf8)) {
      expect(again == source, "what is escaped is not escaped again")
    } else {
      fatalError("what is passed on is a URL")
    }
    guard let url = try? CanonicalURL.parse(source.text) else { return }
    let name = url.scheme == .s3 ? "s3://" + url.host : url.host.withoutRoot
    guard source.host.name != name else { return }
    // curl alone knows which numbers are an address.
    expect(source.host.isAddress, "the host that is admitted is the one that is fetched from")
  }
}

extension String {
  fileprivate var withoutRoot: String { hasSuffix(".") ? String(dropLast()) : self }
}
