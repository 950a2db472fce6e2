internal import ImgdSystem
internal import ImgdText
package import ImgdWire

/// Decides which pictures may be asked for, and by whom.
///
/// A request is let through by its signature or by its host. A signature that is given must be right, whatever the
/// host: it covers the whole target, and a wrong one never counts as none.
package struct PictureAccess {
  private let hosts: HostList
  private let keys: SigningKeys
  private let presets: [String: Preset]
  private let onlyPresets: Bool

  /// If two presets have one name, the last one counts.
  package init(allow: [String], keys: SigningKeys, presets: [Preset], onlyPresets: Bool) {
    hosts = HostList(allow)
    self.keys = keys
    self.presets = Dictionary(presets.map { ($0.name, $0) }) { $1 }
    self.onlyPresets = onlyPresets
  }

  /// The request to carry out, completed by its preset; `now` is in seconds since 1970.
  package func admit(_ parsed: ParsedRequest, now: Int) throws(GatewayError) -> PictureRequest {
    if let signature = parsed.signature {
      try check(signature, of: parsed.signedText)
    } else {
      try check(parsed.source.host)
      if parsed.asksForFacts, onlyPresets {
        throw presetsAlone("facts are for targets that are signed with a key of KeyFile=")
      }
    }
    if let expires = parsed.expires, now > expires {
      throw GatewayError(
        403, "expired", "the target was good until \(expires) (seconds since 1970): ask for a new one", field: "expires"
      )
    }
    let form = parsed.asksForFacts ? WantedForm() : try form(of: parsed)
    var request = try form.request(for: parsed.source.text)
    request.asksForFacts = parsed.asksForFacts
    request.presets = parsed.layers.compactMap { if case .preset(let name) = $0 { name } else { nil } }
    request.expires = parsed.expires
    request.disposition = parsed.disposition
    return request
  }

  private func check(_ signature: String, of text: String) throws(GatewayError) {
    guard !keys.verifies(signature, of: text) else { return }
    let reason =
      keys.isEmpty
      ? "there is no key for it: set KeyFile=, or leave the signature out"
      : "it takes base64url of HMAC-SHA256, by a key of KeyFile=, of the target as it is sent"
    throw GatewayError(
      403, "bad_signature", "the signature \"\(Excerpt.of(signature))\" is not right: \(reason)", field: "signature")
  }

  private func check(_ host: URLHost) throws(GatewayError) {
    guard !hosts.contains(host) else { return }
    throw GatewayError(
      403, "not_allowed",
      "pictures of \"\(Excerpt.of(host.name))\" are not open: name the host in Allow=, or sign the target with a"
        + " key of KeyFile=", field: "url")
  }

  private func form(of parsed: ParsedRequest) throws(GatewayError) -> WantedForm {
    var form = WantedForm()
    var named = 0
    for layer in parsed.layers {
      switch layer {
      case .own(let own):
        if onlyPresets, !own.isEmpty { throw presetsAlone("the target names a form of its own") }
        if own.isLenient, !form.isLenient { form = presets[Self.usual]?.form ?? form }
        form = own.completed(by: form)
      case .preset(let name):
        guard let preset = presets[name] else { throw unknown(name) }
        named += 1
        // Several might be combined to forms that nobody has thought of.
        if onlyPresets, named > 1 { throw presetsAlone("the target names more than one preset") }
        let isLenient = form.isLenient
        form = preset.form.completed(by: form)
        form.isLenient = isLenient
      }
    }
    if onlyPresets, named == 0 { throw presetsAlone("the target names no preset") }
    return form
  }

  /// The preset that every path begins with.
  private static let usual = "default"

  private func presetsAlone(_ problem: String) -> GatewayError {
    GatewayError(
      403, "not_allowed", "\(problem), and with OnlyPresets=yes each takes the name of a preset and nothing else",
      field: "preset")
  }

  private func unknown(_ name: String) -> GatewayError {
    let meant = nearestName(to: name, among: presets.keys.sorted())
    let advice = meant.map { ": did you mean \"\($0)\"?" } ?? "; it takes a name of Presets="
    return .badRequest("there is no preset \"\(Excerpt.of(name))\"\(advice)", field: "preset")
  }
}

/// A picture as a request asks for it, whichever form its target has.
package struct PictureRequest: Equatable, Sendable {
  package var url: String
  package var form = PictureForm()
  /// Whether its format is one that the client takes.
  package var negotiatesFormat = false
  /// The names of the presets of its target.
  var presets: [String] = []
  /// Whether the answer has the facts of the picture, in place of the picture.
  var asksForFacts = false
  /// The end of the target, in seconds since 1970: no cache may answer it later.
  package var expires: Int?
  package var disposition = Disposition()

  /// The request to the daemon.
  func fetch(as formats: [OutputFormat], timeout: Duration) -> FetchRequest {
    var fetch = FetchRequest(url: url)
    fetch.delivery = .fd
    // A browser shows something else meanwhile, and asks again.
    fetch.waitsOnline = false
    fetch.form = form
    fetch.form.formats = formats
    fetch.extras.describe = asksForFacts
    fetch.extras.timeoutMilliseconds = Int(timeout.milliseconds)
    return fetch
  }
}

/// The hosts whose pictures may be asked for without a signature.
package struct HostList: Sendable {
  private let takesAll: Bool
  private let names: Set<String>

  /// A name stands for itself and all names below it, `s3://bucket` for that bucket, and `*` for every host; others are
  /// left out.
  package init(_ names: [String]) {
    takesAll = names.contains("*")
    self.names = Set(names.compactMap { URLHost(named: $0)?.name })
  }

  /// Whether a word of `Allow=` is `*`, a host without a port, or a bucket.
  package static func takes(_ name: String) -> Bool { name == "*" || URLHost(named: name) != nil }

  /// Whether the list has the host, or a domain above it.
  package func contains(_ host: URLHost) -> Bool {
    if names.contains(host.name) { return true }
    // Credentials of the machine open a bucket, which nobody opens to the web without its name.
    guard !host.isBucket else { return false }
    if takesAll { return true }
    guard !host.isAddress else { return false }
    var rest = host.name[...]
    while let parent = rest.cut(at: UInt8(ascii: ".")).rest {
      if names.contains(String(parent)) { return true }
      rest = parent
    }
    return false
  }
}
