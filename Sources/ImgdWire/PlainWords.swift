internal import ImgdText

/// A line that somebody has typed as they would type a command, without any JSON.
struct PlainWords {
  private let first: String

  /// Nil when the line does not begin with a word.
  init?(_ line: Span<UInt8>) {
    var word: [UInt8] = []
    for index in line.indices.prefix(Self.longest) {
      let isSpace = line[index] == 0x20 || line[index] == 0x09
      if isSpace, word.isEmpty { continue }
      if isSpace { break }
      word.append(line[index])
    }
    guard let letter = word.first, (letter | 0x20) &- UInt8(ascii: "a") < 26 else { return nil }
    first = String(decoding: word, as: UTF8.self).lowercased()
  }

  /// No word that could be meant is longer.
  private static let longest = 64

  /// The request that was probably meant.
  var advice: String { "the line is not JSON: a request is a line such as \(meant.example)" }

  private var meant: Request.Command {
    if first.hasPrefix("http://") || first.hasPrefix("https://") { return .fetch }
    let nearest = nearestName(to: first, among: Request.Command.allCases.map { $0.rawValue })
    return nearest.flatMap(Request.Command.init(rawValue:)) ?? .hello
  }
}

extension Request.Command {
  /// A request as it may be sent. None does harm when it is copied.
  var example: String {
    switch self {
    case .fetch, .query, .purge: #"{"cmd":"\#(rawValue)","url":"https://example.org/a.jpg"}"#
    case .cancel, .wait: #"{"cmd":"\#(rawValue)","receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}"#
    case .list, .slots, .stats, .entries, .subscribe, .hello, .ping, .config, .reload: #"{"cmd":"\#(rawValue)"}"#
    }
  }
}
