import ImgdSystem

/// The URLs of a run in their order, from arguments and from lists.
final class URLSource {
  static let input = VerbOption(
    "input", "i", .file("FILE"),
    help: "read URLs from a file, one on each line, with names for their files if wanted; - is standard input")

  private enum Part {
    case url(String)
    case list(URLInput)
  }

  /// How many URLs there are; nil if that is known only at the end of a list.
  let count: Int?
  private var parts: ArraySlice<Part>

  /// Reads the arguments, among which `-` stands for standard input, and then the named list.
  init(_ arguments: [String], list: String?, console: Console, on loop: EventLoop) throws(SystemFailure) {
    var parts: [Part] = []
    for argument in arguments {
      parts.append(argument == "-" ? .list(try URLInput("-", console: console, on: loop)) : .url(argument))
    }
    if let list { parts.append(.list(try URLInput(list, console: console, on: loop))) }
    self.parts = parts[...]
    count = list == nil && !arguments.contains("-") ? arguments.count : nil
  }

  /// Refuses a command line without URLs.
  static func check(_ arguments: Arguments, of verb: VerbDescription) throws(UsageProblem) {
    if arguments.operands.isEmpty, !arguments.has("input") {
      throw UsageProblem("\(verb.name) needs a URL, or --input and a file with URLs")
    }
  }

  /// The next URL; `onArrival` is called once when it is worth asking again after `.waiting`.
  func next(onArrival: @escaping () -> Void) throws(SystemFailure) -> URLInput.Step {
    while let part = parts.first {
      switch part {
      case .url(let url):
        parts.removeFirst()
        return .url(url, name: nil)
      case .list(let input):
        let step = try input.next(onArrival: onArrival)
        guard case .end = step else { return step }
        parts.removeFirst()
      }
    }
    return .end
  }
}
