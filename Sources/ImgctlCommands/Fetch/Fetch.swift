import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl fetch`: pictures as paths, files or bytes.
struct Fetch: Verb {
  static let description = VerbDescription(
    "fetch", "fetch pictures", operands: .some("URL"),
    options: [
      VerbOption(
        "output", "o", .file("FILE|DIR|-"),
        help:
          "write the picture to a file, to an existing directory under a name from its URL, or to standard output"
      ),
      VerbOption("progress", help: "show the progress of downloads on the terminal"),
      .json,
    ] + FetchOptions.all,
    details: """
      Prints a line for each picture: the path of its file in the daemon's cache, or a description of a picture that is in no file.
      The URL - stands for the URLs on standard input, one on each line.
      """)

  private let urls: [String]
  private let output: String?
  private let showsProgress: Bool
  private let asJSON: Bool
  private let options: FetchOptions

  init(_ arguments: Arguments) throws(UsageProblem) {
    urls = arguments.operands
    output = arguments.text("output")
    showsProgress = arguments.has("progress")
    asJSON = arguments.has("json")
    options = try FetchOptions(arguments)
    if output == "-", asJSON {
      throw UsageProblem(
        "--json and -o - both write to standard output: name a file for the picture")
    }
  }

  func run(in context: Context) throws(Failure) -> ExitCode {
    let urls = try urls(context.console)
    let destination = try Destination(output, urls: urls)
    let run = FetchRun(
      options: options, urls: urls, destination: destination, connection: try context.connect(),
      console: context.console, asJSON: asJSON, showsProgress: showsProgress)
    return try run.finish()
  }

  private func urls(_ console: Console) throws(Failure) -> [String] {
    var all: [String] = []
    for url in urls {
      if url == "-" { all += try Self.urlsFromInput(console) } else { all.append(url) }
    }
    return all
  }

  /// One URL on each line; blank lines and lines that begin with # are ignored.
  private static func urlsFromInput(_ console: Console) throws(Failure) -> [String] {
    let bytes: [UInt8]
    do throws(SystemFailure) { bytes = try console.readAllInput() } catch { throw Failure(error) }
    let blanks: [UInt8] = Array(" \t\r".utf8)
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      let start = line.drop { blanks.contains($0) }
      guard let end = start.lastIndex(where: { !blanks.contains($0) }),
        start.first != UInt8(ascii: "#")
      else { return nil }
      return String(decoding: start[...end], as: UTF8.self)
    }
  }
}
