import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl show`: pictures in the terminal.
struct Show: Verb {
  private static let fetchOptions: Set<String> = [
    "cache", "identifier", "priority", "tag", "timeout", "no-wait-online", "max-bytes",
    "header",
  ]

  static let description = VerbDescription(
    "show", "show pictures in the terminal", operands: .some("URL", .picture),
    options: [
      VerbOption(
        "size", "s", .text("COLSxROWS"),
        help: "the most columns and rows that a picture takes, such as 40x20, 40x or x20"),
      VerbOption(
        "protocol", nil, .choice("PROTOCOL", ["auto", "kitty", "sixel", "symbols"]),
        help: "how pictures are drawn: kitty, sixel, symbols, or the best that the terminal has"),
    ] + RequestOptions.all.filter { fetchOptions.contains($0.name) },
    details: """
      A path, such as ./a.avif, stands for a file, and - for standard input.
      The terminal is asked what it can draw. One without pictures gets half blocks in its colours, and so does what is no terminal. Of an animation the first frame is shown, and no picture is enlarged.
      Pictures are decoded in the daemon's sandbox. Sixels and symbols need the package libchafa0.
      """)

  private let urls: [String]
  private let limit: CellLimit
  private let wanted: DrawingProtocol?
  private let options: RequestOptions

  init(_ arguments: Arguments) throws(UsageProblem) {
    urls = arguments.operands
    limit = try CellLimit(arguments.text("size"))
    wanted = arguments.text("protocol").flatMap(DrawingProtocol.init)
    options = try RequestOptions(arguments)
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let connection = try context.connect()
    let canvas = try Canvas(Screen(context, limit: limit), wanted, context)
    var outcome = ExitCode.done
    for (url, isFile) in urls.flatMap(Self.subjects) {
      var file: SharedDescriptor?
      do throws(SystemFailure) { if isFile { file = try LocalFile.open(url, context.console) } } catch {
        context.console.complain("\(url): \(error)")
        outcome = outcome.joined(.failed)
        continue
      }
      var fetch = FetchRequest(url: file == nil ? url : FetchRequest.descriptorURL)
      fetch.delivery = .pixels
      options.apply(to: &fetch)
      fetch.form.box = PictureForm.Box(width: canvas.room.width, height: canvas.room.height)
      let limit = options.timeout.map { $0 + FetchRun.grace }
      let answer = try context.answer(to: .fetch(fetch), with: file, over: connection, within: limit)
      if answer.reply.isNotModified {
        context.console.remark("\(url): not modified")
      } else if answer.reply.succeeded == true {
        guard let memory = connection.takeDescriptor() else {
          throw Failure(.failed, "the daemon sent no pixels with its answer")
        }
        try context.print(canvas.text(of: DecodedPicture(answer.reply, memory)))
      } else {
        context.console.complain("\(url): \(answer.reply.complaint(about: url))")
        outcome = outcome.joined(answer.reply.exitCode)
      }
    }
    return outcome
  }

  /// The pictures that a word stands for, and whether they are files.
  private static func subjects(_ word: String) -> [(String, isFile: Bool)] {
    if word == "-" { return [(word, true)] }
    return LocalFile.paths(word)?.map { ($0, true) } ?? [(word, false)]
  }
}
