import ImgdWire
import ImgdText

// A file called picture.webp has to be a WebP, since programs go by the name. So the name of a file asks for its
// format, as with vipsthumbnail and convert, unless --format says otherwise.

extension OutputFormat {
  /// The option of the commands that have pictures encoded.
  static let option = VerbOption(
    "format", nil, .choice("FORMAT", allCases.flatMap { $0 == .jpeg ? ["jpeg", "jpg"] : [$0.rawValue] }),
    help: "another encoding: " + alternatives(allCases.dropFirst().map { $0.rawValue })
      + "; with -o FILE that of its ending, unless it is given")

  /// The format that the name of a file asks for; nil without an ending, or with one whose format cannot be written.
  init?(ofFile path: String) {
    guard let kind = PictureName.kind(ofFile: path) else { return nil }
    self.init(rawValue: kind)
  }
}

extension Arguments {
  /// The format of `--format`.
  var format: OutputFormat? { text("format").flatMap { OutputFormat(rawValue: $0 == "jpg" ? "jpeg" : $0) } }
}
