import Glibc
import ImgdTestSupport
import ImgdWire

/// The programs whose lines are recorded, with what they ask for.
enum RecordedClient: String, CaseIterable {
  case imgctl, gateway, gatewayForm, python, pythonBytes

  /// Has the program ask a daemon's socket for a URL. There comes no answer, so it waits until `recorded` says that its
  /// line has come.
  fileprivate func ask(_ socket: String, for url: String, until recorded: () -> String?) throws -> String {
    switch self {
    case .imgctl: return try run(BuiltProduct.path(of: "imgctl"), ["--socket", socket, "fetch", url], recorded)
    case .gateway: return try askGateway(socket, url, "", recorded)
    case .gatewayForm: return try askGateway(socket, url, "&width=32&height=32&format=webp", recorded)
    case .python: return try runPython("client.fetch('\(url)')", socket, recorded)
    case .pythonBytes: return try runPython("client.fetch('\(url)', deliver='bytes')", socket, recorded)
    }
  }

  private func askGateway(_ socket: String, _ url: String, _ form: String, _ recorded: () -> String?) throws -> String {
    let gateway = try GatewayProcess(before: socket)
    let connection = try HTTPConversation(gateway.socket)
    try connection.send("/fetch?url=\(url)\(form)", [])
    return try awaitLine(recorded)
  }

  private func runPython(_ call: String, _ socket: String, _ recorded: () -> String?) throws -> String {
    let program = "import imgd\nclient = imgd.Client('\(socket)')\n\(call)"
    return try run(
      "/usr/bin/python3", ["-c", program], recorded, environment: ["PYTHONPATH=clients/python"])
  }

  private func run(
    _ program: String, _ arguments: [String], _ recorded: () -> String?, environment: [String]? = nil
  ) throws -> String {
    let pid = try ChildProcess.spawn(program, arguments, environment: environment)
    defer {
      kill(pid, SIGKILL)
      _ = ChildProcess.wait(pid)
    }
    return try awaitLine(recorded)
  }

  private func awaitLine(_ recorded: () -> String?) throws -> String {
    guard try becomes({ recorded() != nil }), let line = recorded() else {
      throw TestFailure("\(rawValue) has sent no fetch")
    }
    return line
  }
}

/// A line as a client has sent it, in which its id, its URL and its receipt are replaced by others.
struct RecordedLine {
  private static let url = "http://127.0.0.1:9/recorded.png"

  /// What stands before, between and behind the parts that vary.
  private var pieces: [(text: Substring, part: Part)] = []
  private let end: Substring

  private enum Part { case id, url, receipt }

  init(of client: RecordedClient) throws {
    let recorder = try LineRecorder()
    let line = try client.ask(recorder.socket, for: Self.url) {
      recorder.lines.first { $0.contains(#""fetch""#) && $0.contains(Self.url) }
    }
    var rest = line[...]
    while let next = [
      Self.find(#/"id" ?: ?("?[-\w]+"?)/#, .id, in: rest),
      Self.find(#/"receipt" ?: ?"([-0-9a-f]{36})"/#, .receipt, in: rest),
      Self.find(#/"url" ?: ?"([^"]+)"/#, .url, in: rest),
    ].compactMap(\.self).min(by: { $0.place.lowerBound < $1.place.lowerBound }) {
      pieces.append((rest[..<next.place.lowerBound], next.part))
      rest = rest[next.place.upperBound...]
    }
    end = rest
    guard pieces.contains(where: { $0.part == .url }) else { throw TestFailure("this is no fetch: \(line)") }
  }

  private static func find(
    _ pattern: Regex<(Substring, Substring)>, _ part: Part, in text: Substring
  ) -> (place: Range<Substring.Index>, part: Part)? {
    text.firstMatch(of: pattern).map { ($0.output.1.startIndex..<$0.output.1.endIndex, part) }
  }

  func line(_ id: Int, _ url: String) -> String {
    pieces.reduce(into: "") { line, piece in
      line += piece.text
      switch piece.part {
      case .id: line += String(id)
      case .url: line += url
      case .receipt: line += ReceiptID.random(using: (UInt64(id), .random(in: 0 ... .max))).description
      }
    } + end
  }
}
