import ImgdConnection
import ImgdSystem

/// `imgctl list`: the fetches under way.
struct ListFetches: Verb {
  static let description = VerbDescription(
    "list", "show the fetches under way", options: [.json])

  private let asJSON: Bool

  init(_ arguments: Arguments) {
    asJSON = arguments.has("json")
  }

  func run(in context: Context) throws(Failure) -> ExitCode {
    var pages: [Reply] = []
    try context.pages(of: RequestLine("list")) { page throws(Failure) in
      if asJSON { try context.print(page.text) } else { pages.append(page.reply) }
    }
    if !asJSON { try context.print(AnswerTable.downloads(pages)) }
    return .done
  }
}
