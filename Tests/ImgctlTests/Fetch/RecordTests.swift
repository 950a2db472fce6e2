import ImgdSystem
import ImgdWire
import Testing

@testable import ImgctlCommands

/// What is printed of several pictures, and when.
struct RecordTests {
  /// A daemon that answers when so many requests have come, the last one first.
  private func backwards(
    _ count: Int, _ answer: @escaping @Sendable (String) -> String
  ) throws -> ScriptedDaemon {
    let waiting = Locked<[String]>([])
    return try ScriptedDaemon { request in
      waiting.withLock { requests in
        requests.append(request)
        guard requests.count == count else { return [] }
        defer { requests = [] }
        return requests.reversed().map { .line("{\"id\":\(id($0)),\(answer(id($0)))}") }
      }
    }
  }

  private let urls = ["http://h/0", "http://h/1", "http://h/2"]

  @Test func `records come in the order asked`() throws {
    let run = imgctl(["fetch"] + urls, try backwards(3) { #""ok":true,"path":"/\#($0)""# })
    #expect(run.output == "/0\n/1\n/2\n")
  }

  @Test func `records come as they are there when that is wanted`() throws {
    let daemon = try backwards(3) { #""ok":true,"path":"/\#($0)""# }
    #expect(imgctl(["fetch", "--unordered"] + urls, daemon).output == "/2\n/1\n/0\n")
  }

  @Test func `a failure holds up nothing`() throws {
    let daemon = try backwards(3) { id in
      id == "1"
        ? #""ok":false,"error":{"code":"dns","message":"m"}"# : #""ok":true,"path":"/\#(id)""#
    }
    let run = imgctl(["fetch"] + urls, daemon)
    #expect(run.output == "/0\n/2\n")
    #expect(run.messages == "imgctl: http://h/1: m (dns)\n")
  }

  @Test(arguments: [
    (["-l"], "/0\thttp://h/0\n/1\thttp://h/1\n"), (["-0"], "/0\0/1\0"),
    (["-l", "-0"], "/0\thttp://h/0\0/1\thttp://h/1\0"),
  ])
  func `records can be listed and ended otherwise`(options: [String], output: String) throws {
    let daemon = try backwards(2) { #""ok":true,"path":"/\#($0)""# }
    #expect(imgctl(["fetch"] + urls.prefix(2) + options, daemon).output == output)
  }

  @Test(arguments: [[], ["-l"], ["-0"], ["-l", "-0"]])
  func `a picture in no file has no line and a status of its own`(options: [String]) throws {
    let daemon = try backwards(2) { id in
      id == "0"
        ? #""ok":true,"path":"/0""#
        : #""ok":true,"path":null,"deliver_note":"the disk is full: use deliver fd","format":"png""#
    }
    let run = imgctl(["fetch"] + urls.prefix(2) + options, daemon)
    #expect(run.output.hasPrefix("/0") && !run.output.contains("h/1"))
    #expect(run.exitCode.rawValue == 12)
    #expect(
      run.messages == """
        imgctl: http://h/1: in no file, since the disk is full; imgctl fetch -o FILE writes one

        """)
  }

  @Test func `a picture in no file has a line of JSON, and the status`() throws {
    let daemon = try backwards(1) { _ in #""ok":true,"path":null"# }
    let run = imgctl(["fetch", "u", "--json"], daemon)
    #expect(run.output == #"{"ok":true,"path":null,"url":"u"}"# + "\n")
    #expect(run.exitCode.rawValue == 12)
  }

  @Test func `the way out of a refused user name is told in options`() throws {
    let refusal = #""ok":false,"error":{"code":"bad_url","message":"belong in \"headers\""}"#
    let run = imgctl(["fetch", "http://me@h/a"], try backwards(1) { _ in refusal })
    #expect(run.exitCode == .badURL)
    #expect(
      run.messages == """
        imgctl: http://me@h/a: the URL has a user name in it: leave it out, and write \
        -H 'Authorization: Basic …' (bad_url)

        """)
  }

  @Test func `the pause that an origin asks for is told`() throws {
    let refusal = #"""
      "ok":false,"error":{"code":"http_status","message":"h answered 429",\#
      "details":{"retry_after_ms":13500},"retryable":true}
      """#
    let run = imgctl(["fetch", "u"], try backwards(1) { _ in refusal })
    #expect(run.exitCode == .tryLater)
    #expect(run.messages == "imgctl: u: h answered 429, and asked to wait 14s (http_status)\n")
  }

  @Test func `lines of JSON have the URL and not the id`() throws {
    let daemon = try backwards(3) { id in
      id == "1"
        ? #""ok":false,"error":{"code":"dns","message":"m"}"#
        : #""ok":true,"url":"http://h/\#(id)","elapsed_ms":1.7,"n":null,"a":[1,{"b":"\u001b"}]"#
    }
    let run = imgctl(["fetch", "--json"] + urls, daemon)
    let rest = #""elapsed_ms":1.7,"n":null,"a":[1,{"b":"\u001b"}]}"#
    #expect(
      run.output == """
        {"ok":true,"url":"http://h/0",\(rest)
        {"ok":false,"error":{"code":"dns","message":"m"},"url":"http://h/1"}
        {"ok":true,"url":"http://h/2",\(rest)

        """)
  }

  @Test func `lines of JSON say which file was written`() throws {
    let directory = try ScratchDirectory()
    let run = imgctl(
      ["fetch", "http://h/a", "-o", directory.path, "--json"], try pictureDaemon())
    let line = try JSONValue(parsing: run.output)
    #expect(line["file"]?.string == directory.file("a.png"))
    #expect(line["url"]?.string == "http://h/a" && line["id"] == nil)
  }

  @Test(arguments: [true, false])
  func `events are printed when they are asked for`(isWanted: Bool) throws {
    let daemon = try ScriptedDaemon { request in
      [
        .line(#"{"event":"progress","id":0,"received":1,"expected":2}"#),
        .line(#"{"id":0,"ok":true,"path":"/0"}"#),
      ]
    }
    let run = imgctl(["fetch", "u", "--json"] + (isWanted ? ["--progress"] : []), daemon)
    let event = #"{"event":"progress","received":1,"expected":2,"url":"u"}"# + "\n"
    #expect(run.output == (isWanted ? event : "") + #"{"ok":true,"path":"/0","url":"u"}"# + "\n")
    #expect(run.messages == "")
  }

  @Test func `passwords are not printed`() throws {
    let refusal = #""ok":false,"error":{"code":"bad_url","message":"http://me:secret@h/ is not"}"#
    let url = "http://me:secret@h/a"
    for options in [[], ["--json"], ["-l"], ["-v"]] {
      let run = imgctl(["fetch", url] + options, try backwards(1) { _ in refusal })
      #expect(run.exitCode == .badURL && run.messages.contains("http://me:…@h/a"))
      #expect(!(run.output + run.messages).contains("secret"), "\(run)")
    }
    let listed = imgctl(["fetch", url, "-l"], try backwards(1) { _ in #""ok":true,"path":"/0""# })
    #expect(listed.output == "/0\thttp://me:…@h/a\n")
  }

  @Test(arguments: [
    ("", ""), ("a@b:c", "a@b:c"), ("http://h/a:b@c", "http://h/a:b@c"),
    ("http://u@h/", "http://u@h/"),
    ("x http://u:p@h/ y https://v:q@g", "x http://u:…@h/ y https://v:…@g"),
    ("http://u:p@q@h/", "http://u:…@h/"), ("http://u:@h", "http://u:…@h"),
    (#"{"url":"http://u:p@h"}"#, #"{"url":"http://u:…@h"}"#), ("://", "://"),
    ("http://u:p", "http://u:p"),
  ])
  func `passwords of URLs are found in any text`(text: String, shown: String) {
    #expect(withoutPasswords(text) == shown)
  }

  @Test func `pixels come with their geometry`() throws {
    let directory = try ScratchDirectory()
    let answer = #"{"id":0,"ok":true,"format":"png","fds":[{"width":2,"height":1,"stride":8}]}"#
    let script = { @Sendable (_: String) -> [ScriptedDaemon.Answer] in
      [.picture(answer, Array(0..<8))]
    }
    let arguments = ["fetch", "http://h/a.png", "--as", "pixels", "-o", directory.path]
    let run = imgctl(arguments, try ScriptedDaemon(script))
    #expect(run.output == directory.file("a.rgba") + "\n")
    #expect(run.messages == "http://h/a.png: 2x1 stride 8\n")
    #expect(directory.content("a.rgba") == Array(0..<8))
    let quiet = imgctl(arguments + ["-q", "-f"], try ScriptedDaemon(script))
    #expect(quiet.messages == "")
  }

  @Test func `a fetch that is not waited for is its receipt`() throws {
    let daemon = try backwards(1) { _ in #""ok":true,"receipt":"R","state":"queued""# }
    let run = imgctl(["fetch", "u", "--no-wait", "-l"], daemon)
    #expect(run.output == "R\tu\n")
  }

  @Test func `a prefetch is summed up`() throws {
    let answers = [
      #""ok":true,"source":"network","bytes":1000"#, #""ok":true,"source":"memory","bytes":1000"#,
      #""ok":false,"error":{"code":"dns","message":"m","retryable":true}"#,
    ]
    let daemon = try backwards(3) { answers[Int($0) ?? 0] }
    let run = imgctl(["prefetch"] + urls, daemon)
    #expect(run.output == "1 fetched, 1 already there, 1 failed; 1.9K\n")
    #expect(run.exitCode == .tryLater)
    let json = imgctl(["prefetch", "--json"] + urls, try backwards(3) { answers[Int($0) ?? 0] })
    #expect(json.output == #"{"fetched":1,"present":1,"failed":1,"bytes":2000}"# + "\n")
  }
}
