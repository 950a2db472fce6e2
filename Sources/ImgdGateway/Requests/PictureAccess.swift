internal import ImgdWire
internal import ImgdText

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
    }
    if let expires = parsed.expires, now > expires {
      throw GatewayError(
        403, "expired", "the target was good until \(expires) (seconds since 1970): ask for a new one", field: "expires"
      )
    }
    var request = try form(of: parsed).request(for: parsed.source.text)
    request.expires = parsed.expires
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
    if onlyPresets, parsed.form != WantedForm() { throw presetsAlone("the target names a form of its own") }
    guard let name = parsed.presetName else {
      if onlyPresets { throw presetsAlone("the target names no preset") }
      return parsed.form
    }
    guard let preset = presets[name] else { throw unknown(name) }
    return parsed.form.completed(by: preset.form)
  }

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
