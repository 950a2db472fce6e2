import CChafa

/// How many colours a picture is drawn in. For a picture they are not a decoration: it keeps them when its text goes
/// into a file, too.
struct ColourDepth {
  let value: imgctl_colours

  init(_ wish: Manner.Colour, _ environment: [String: String]) {
    let terminal = environment["TERM"] ?? ""
    let isPlain = terminal == "dumb" || !(environment["NO_COLOR"] ?? "").isEmpty
    value =
      switch wish {
      case .never: IMGCTL_NO_COLOURS
      case .auto where isPlain: IMGCTL_NO_COLOURS
      case .auto, .always: Self.depth(of: terminal, environment["COLORTERM"] ?? "")
      }
  }

  private static func depth(of terminal: String, _ colours: String) -> imgctl_colours {
    if colours == "truecolor" || colours == "24bit" || terminal.hasSuffix("-direct") || terminal == "xterm-kitty" {
      return IMGCTL_MILLIONS_OF_COLOURS
    }
    // Without a name the text goes into a file that is shown on a terminal later.
    return terminal.hasSuffix("-256color") || terminal.isEmpty ? IMGCTL_256_COLOURS : IMGCTL_16_COLOURS
  }
}
