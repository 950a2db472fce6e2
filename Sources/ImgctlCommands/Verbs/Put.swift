import ImgdConnection
import ImgdSystem
import ImgdWire

/// `imgctl put`: a picture of the user's own into the cache, under a URL.
struct Put: Verb {
  static let description = VerbDescription(
    "put", "keep a picture of your own under a URL", operands: Operands(word: "URL FILE", count: 2...2, kind: .picture),
    options: [
      VerbOption("ttl", nil, .duration, help: "how long the picture counts as fresh, such as 7d"),
      VerbOption("tag", nil, .text("TAG"), repeats: true, help: "label the picture for purge"),
      VerbOption("for-all", help: "for every user, in place of yourself: where the configuration lets you"), .json,
    ],
    details: """
      Prints what the daemon has recognised. From then on the URL is answered with the picture, until it is no longer fresh. The file - is standard input.
      """)

  private let arguments: Arguments

  init(_ arguments: Arguments) throws(UsageProblem) {
    self.arguments = arguments
    try RequestOptions.check(arguments, "ttl", .zero, WireLimits.seconds, 1)
  }

  func carryOut(in context: Context) throws(Failure) -> ExitCode {
    let file: SharedDescriptor
    do throws(SystemFailure) { file = try LocalFile.open(arguments.operands[1], context.console) } catch {
      throw Failure(error)
    }
    var put = PutRequest(url: arguments.operands[0])
    put.ttl = arguments.duration("ttl").map { Int($0.components.seconds) }
    put.tags = arguments.texts("tag")
    put.isForAll = arguments.has("for-all")
    // The daemon answers when the picture is in the cache, however long its file takes to be read.
    let answer = try context.ask(.put(put), with: file, over: context.connect(), within: nil)
    try context.print(answer) { reply in
      let size = "\(reply.number("width") ?? 0)x\(reply.number("height") ?? 0)"
      return "\(reply.text("format") ?? "?") \(size), \(Quantity.size(reply.number("bytes") ?? 0))"
    }
    return .done
  }
}
