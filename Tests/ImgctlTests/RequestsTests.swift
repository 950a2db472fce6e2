import ImgdSystem
import ImgdWire
import Testing

@testable import ImgctlCommands

struct RequestsTests {
  /// The requests that a command line sends, as the daemon understands them.
  private func requests(_ arguments: [String], answer: String = #""state":"running""#) throws
    -> [String]
  {
    let sent = Locked<[String]>([])
    let daemon = try ScriptedDaemon { line in
      let id = line.contains(#""id":"#) ? #""id":\#(id(line)),"# : ""
      sent.withLock { $0.append(line) }
      let path = answer.contains("path") ? "" : #""path":"/p","#
      return [.line("{\(id)\"ok\":true,\(path)\(answer)}")]
    }
    let run = imgctl(arguments, daemon)
    #expect(run.exitCode == .done, "\(run.messages)")
    return sent.withLock { $0 }.map { line in
      let outcome = RequestParser.parse(Array(line.utf8).span).outcome
      guard case .request(let request) = outcome else { return "refused: \(line): \(outcome)" }
      return "\(request)"
    }
  }

  @Test(arguments: [
    [], ["--cache", "only-if-cached"], ["--priority", "low"], ["--identifier", "ä\"\\"],
    ["--tag", "a", "--tag", "b"], ["--timeout", "1500ms"], ["--max-bytes", "1M"],
    ["--header", "Accept: image/png", "-H", "X-Y: z"], ["--resize", "256x", "--format", "webp"],
    ["--resize", "20x10", "--fit", "cover", "--crop", "attention", "--quality", "80"],
    ["--resize", "20x10", "--fit", "cover", "--crop", "0.4,0.3"],
    ["--resize", "20x10", "--fit", "pad", "--background", "#ff8000"],
    ["--area", "0.0,0,0.5,1"], ["--area", "1,2,3,4", "--resize", "9x", "--quality", "9"],
    ["--resize", "x9", "--enlarge", "--linear", "--frames", "first"], ["--ttl", "7d"],
    ["--store", "memory"], ["--json", "--http", "--describe", "--progress"], ["--detach"],
    ["--receipt", "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"], ["--no-wait"], ["--as", "none"],
  ])
  func `every option of fetch is accepted by the daemon`(options: [String]) throws {
    let sent = try requests(["fetch", "http://h/a.jpg"] + options)
    #expect(sent.count == 1 && sent[0].hasPrefix("fetch"), "\(sent)")
  }

  @Test(arguments: [
    ["prefetch", "u"], ["prefetch", "u", "--priority", "high"], ["thumbnail", "u", "-s", "64"],
    ["thumbnail", "u", "--format", "webp"],
  ])
  func `the kin of fetch are accepted by the daemon`(arguments: [String]) throws {
    let sent = try requests(arguments)
    #expect(sent.count == 1 && sent[0].hasPrefix("fetch"), "\(sent)")
  }

  @Test(arguments: [[], ["--as", "none"], ["--json"]])
  func `every option of wait is accepted by the daemon`(options: [String]) throws {
    let receipt = "5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"
    let sent = try requests(["wait", receipt] + options, answer: #""path":"/x""#)
    #expect(sent.count == 1 && sent[0].hasPrefix("wait"), "\(sent)")
  }

  @Test(arguments: [
    ["5D0C9B7E-2A43-4B57-9A57-2C2E3C9E1B11"], ["--tag", "t"], ["--tag", "t", "--tag", "u"],
    ["--all"],
  ])
  func `every target of cancel is accepted by the daemon`(arguments: [String]) throws {
    let sent = try requests(["cancel"] + arguments)
    #expect(sent.count == max(1, arguments.count / 2))
    #expect(sent.allSatisfy { $0.hasPrefix("cancel") }, "\(sent)")
  }

  @Test(arguments: [
    ["--all"], ["--url", "http://h/a", "--identifier", "i"], ["--prefix", "http://h/"],
    ["--host", "example.org"], ["--tag", "t"], ["--older-than", "7d"], ["--unused-for", "90s"],
    ["--expired", "--soft"], ["--tier", "memory", "--expired"],
  ])
  func `every filter of purge is accepted by the daemon`(arguments: [String]) throws {
    let sent = try requests(["purge"] + arguments)
    #expect(sent.count == 1 && sent[0].hasPrefix("purge"), "\(sent)")
  }

  @Test func `of a list of receipts the daemon is asked for those that are some`() throws {
    let daemon = try ScriptedDaemon { line in
      #expect(line == #"{"cmd":"wait","id":1,"receipt":"5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"}"#)
      return [.line(#"{"id":1,"ok":true,"path":"/p"}"#)]
    }
    let run = imgctl(
      ["wait", "-"], daemon, input: "R\n5D0C9B7E-2A43-4B57-9A57-2C2E3C9E1B11\n")
    #expect(run.messages == "imgctl: R: this is no receipt\n")
    #expect(run.output == "/p\n" && run.exitCode == .failed)
  }
}
