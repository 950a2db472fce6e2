internal import ImgdText

/// The sections of `imgd.conf`, with their names in the file.
///
/// Each program reads its own sections and skips those of the other: mistakes there are the other's to
/// report.
package enum ConfigurationSection: String, Sendable, CaseIterable {
  case control = "Control"
  case memory = "Memory"
  case disk = "Disk"
  case downloads = "Downloads"
  case http = "HTTP"
  case network = "Network"
  case decode = "Decode"
  case fleet = "Fleet"
  case gateway = "HTTP-Gateway"

  /// The name of the program that reads it.
  var reader: String { self == .gateway ? "imgd-http" : "imgd" }

  /// The beginning of the variables that set its keys: `IMGD_HTTP_GATEWAY_`.
  var variablePrefix: String {
    let letters = rawValue.uppercased().map { $0 == "-" ? "_" : $0 }
    return "IMGD_" + String(letters) + "_"
  }

  /// A message about a section that does not exist, with the name that was probably meant.
  static func unknown(_ name: String) -> String {
    if let nearest = nearestName(to: name, among: allCases.map(\.rawValue)) {
      return "[\(shown(name))] is not a section: did you mean [\(nearest)]?"
    }
    let names = allCases.map { "[\($0.rawValue)]" }
    return "[\(shown(name))] is not a section: write \(alternatives(names))"
  }
}
