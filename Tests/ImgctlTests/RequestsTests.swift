import ImgdWire
import Testing

@testable import ImgctlCommands

@Suite struct RequestsTests {
  /// The daemon's understanding of a line, as text; nil where it refuses it.
  private func understood(_ line: [UInt8]) -> String? {
    guard case .request(let request) = RequestParser.parse(line.span).outcome else { return nil }
    return "\(request)"
  }

  private func action(_ arguments: [String]) throws -> Invocation.Action {
    try Invocation.parse(arguments).action
  }

  @Test(arguments: ["ping", "stats"])
  func `plain commands are accepted by the daemon`(command: String) {
    #expect(understood(Requests.plain(command)) == command)
  }

  @Test func `a page of a list is accepted by the daemon`() {
    var page = PageRequest()
    #expect(understood(Requests.page(of: "list", after: nil)) == "\(Request.list(page))")
    page.cursor = "7"
    #expect(understood(Requests.page(of: "list", after: "7")) == "\(Request.list(page))")
  }

  @Test(arguments: [
    [], ["--cache", "only-if-cached"], ["--priority", "low"], ["--identifier", "ä\"\\"],
    ["--tag", "a", "--tag", "b"], ["--timeout", "1500ms"], ["--max-bytes", "1M"],
    ["--header", "Accept: image/png", "--header", "X-Y: z"],
  ])
  func `every option of fetch is accepted by the daemon`(options: [String]) throws {
    guard case .fetch(let arguments) = try action(["fetch", "http://h/a.jpg"] + options) else {
      Issue.record("fetch is not read as fetch")
      return
    }
    for flag in [true, false] {
      let line = Requests.fetch(
        "http://h/a.jpg", id: 7, arguments, withBytes: flag, withProgress: flag)
      #expect(understood(line)?.hasPrefix("fetch") == true)
    }
  }

  @Test(arguments: [
    ["5D0C9B7E-2A43-4B57-9A57-2C2E3C9E1B11"], ["--slot", "s"], ["--tag", "t"], ["--all"],
  ])
  func `every target of cancel is accepted by the daemon`(arguments: [String]) throws {
    guard case .cancel(let target) = try action(["cancel"] + arguments) else {
      Issue.record("cancel is not read as cancel")
      return
    }
    #expect(understood(Requests.cancel(target))?.hasPrefix("cancel") == true)
  }

  @Test(arguments: [
    ["--all"], ["--url", "http://h/a", "--identifier", "i"], ["--prefix", "http://h/"],
    ["--host", "example.org"], ["--tag", "t"], ["--older-than", "7d"], ["--unused-for", "90s"],
    ["--expired", "--soft"], ["--tier", "memory"],
  ])
  func `every filter of purge is accepted by the daemon`(arguments: [String]) throws {
    guard case .purge(let filters) = try action(["purge"] + arguments) else {
      Issue.record("purge is not read as purge")
      return
    }
    #expect(understood(Requests.purge(filters))?.hasPrefix("purge") == true)
  }
}
