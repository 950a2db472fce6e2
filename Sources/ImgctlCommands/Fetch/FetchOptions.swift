import ImgdConnection
import ImgdSystem
import ImgdWire

/// The options that a request for a picture has, whichever command sends it.
struct FetchOptions {
  static let all = [
    VerbOption(
      "cache", nil, .choice("MODE", CacheMode.allCases.map(\.rawValue)),
      help:
        "how the cache is used: default, reload, no-cache, force-cache, only-if-cached or no-store"),
    VerbOption("resize", nil, .text("WxH"), help: "another size, such as 256x256, 256x or x256"),
    VerbOption(
      "fit", nil, .choice("FIT", ResizeRequest.Fit.allCases.map(\.rawValue)),
      help: "how the picture fits into that size: contain, cover or fill"),
    VerbOption(
      "format", nil, .choice("FORMAT", ["original", "jpeg", "png", "webp", "avif"]),
      help: "another encoding: jpeg, png, webp or avif"),
    VerbOption("quality", nil, .number("1-100", 1...100), help: "the quality of that encoding"),
    VerbOption("identifier", nil, .text("ID"), help: "an additional part of the cache key"),
    VerbOption(
      "priority", nil, .choice("PRIORITY", Priority.allCases.map(\.rawValue)),
      help: "low, normal or high"),
    VerbOption(
      "tag", nil, .text("TAG"), repeats: true, help: "label the fetch for cancel and purge"),
    VerbOption("timeout", nil, .duration, help: "give up after this time, such as 30s"),
    VerbOption("max-bytes", nil, .size, help: "refuse pictures larger than this, such as 10M"),
    VerbOption(
      "header", "H", .text("'NAME: VALUE'"), repeats: true, help: "send a header to the origin"),
  ]

  private let arguments: Arguments
  private let headers: [(name: String, value: String)]
  private let size: (width: Int?, height: Int?)?

  init(_ arguments: Arguments) throws(UsageProblem) {
    self.arguments = arguments
    headers = try Self.headers(arguments.texts("header"))
    size = try arguments.text("resize").map(Self.size)
    if let timeout = arguments.text("timeout"), let duration = arguments.duration("timeout"),
      duration < .milliseconds(1)
    {
      throw UsageProblem("--timeout \(printable(timeout)) is too short: write at least 1ms")
    }
    if arguments.has("fit"), size == nil { throw UsageProblem("--fit needs --resize") }
  }

  /// The time after which the daemon gives up, if one was named.
  var timeout: Duration? { arguments.duration("timeout") }

  /// Adds the fields of these options to a request.
  func add(to line: inout RequestLine) {
    line.add("cache", arguments.text("cache"))
    line.add("identifier", arguments.text("identifier"))
    line.add("priority", arguments.text("priority"))
    line.add("format", arguments.text("format"))
    line.add("quality", arguments.number("quality"))
    line.add("timeout_ms", timeout.map { Int($0.milliseconds) })
    line.add("max_bytes", arguments.size("max-bytes"))
    if arguments.has("tag") { line.add("tags", arguments.texts("tag")) }
    if !headers.isEmpty { line.add("headers", headers) }
    if let size {
      line.addObject("resize") { resize in
        resize.add("width", size.width)
        resize.add("height", size.height)
        resize.add("fit", arguments.text("fit"))
      }
    }
  }

  private static func headers(
    _ texts: [String]
  ) throws(UsageProblem) -> [(name: String, value: String)] {
    var headers: [(name: String, value: String)] = []
    var names: Set<String> = []
    for text in texts {
      let header = try header(text)
      guard names.insert(header.name.lowercased()).inserted else {
        throw UsageProblem(
          "--header \(printable(header.name)) is given twice: write one, with both values")
      }
      headers.append(header)
    }
    return headers
  }

  private static func header(_ text: String) throws(UsageProblem) -> (name: String, value: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let name = parts.first, !name.isEmpty, !name.contains(" ") else {
      throw UsageProblem("--header '\(printable(text))' is not a header: write 'Name: value'")
    }
    return (String(name), String(parts[1].drop { $0 == " " }))
  }

  /// `256x256`, or one side alone: `256x`, `x256`.
  private static func size(
    _ text: String
  ) throws(UsageProblem) -> (width: Int?, height: Int?) {
    let parts = text.split(separator: "x", omittingEmptySubsequences: false).map(String.init)
    let sides = parts.map { Int($0) }
    let areNumbers = zip(parts, sides).allSatisfy { part, side in
      part.isEmpty || (side.map { 1...65535 ~= $0 } ?? false)
    }
    guard parts.count == 2, areNumbers, sides.contains(where: { $0 != nil }) else {
      throw UsageProblem(
        "--resize \(printable(text)) is not a size: write WIDTHxHEIGHT, such as 256x256, 256x or x256"
      )
    }
    return (sides[0], sides[1])
  }
}
