// Stands in for the parser of presets until that is there.

extension Preset {
  init(parsing word: String) throws(GatewayError) {
    let parts = word.split(separator: ":").map(String.init)
    self.init(name: parts.first ?? "")
    for part in parts.dropFirst() { fit = PictureRequest.Fit(rawValue: part) ?? fit }
  }

  var text: String { name + (fit.map { ":" + $0.rawValue } ?? "") }
}
