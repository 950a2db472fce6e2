import ImgdTestSupport
import Testing

@testable import ImgdWire

/// Every request is written as the line that is read as the same request.
struct RequestWriterTests {
  private func line(_ fetch: FetchRequest, id: RequestID = .none) -> String {
    line(.fetch(fetch), id: id)
  }

  private func line(_ request: Request, id: RequestID = .none) -> String {
    String(decoding: request.line(id: id), as: UTF8.self)
  }

  private func wanted(_ change: (inout FetchRequest) -> Void) -> FetchRequest {
    var fetch = FetchRequest(url: "http://h/a")
    change(&fetch)
    return fetch
  }

  /// Values of each field of a fetch as a client writes them.
  private static let values: [RequestField: [String]] = [
    .identifier: [#""""#, letters(256), strange],
    .receipt: [#""5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11""#],
    .cache: names(CacheMode.self), .deliver: names(Delivery.self), .store: names(StorePolicy.self),
    .format: OutputFormat.alone.map { "\"\($0.rawValue)\"" } + [
      #""jpg""#, #"["webp"]"#, #"["heic"]"#, #"["avif","jpg","original"]"#,
      "[\(names(OutputFormat.self).joined(separator: ","))]",
    ], .priority: names(Priority.self),
    .frames: names(FrameChoice.self), .layout: names(PixelLayout.self), .slot: [letters(128), strange],
    .share: [letters(64), strange],
    .headers: ["{}", #"{"A":"","!#$%&'*+-.^_`|~09azAZ":" \t~ "}"#, #"{"B":"\"é\\","A":"1"}"#],
    .tags: ["[]", #"["a"]"#, "[\(strange),\(letters(64))]"],
    .progress: flags, .events: flags, .wait: flags, .waitOnline: flags, .detach: flags,
    .http: flags,
    .describe: flags, .timeoutMilliseconds: ["1", "86400000"],
    .maxBytes: ["1", "9223372036854775807"], .ttl: ["0", "315360000"], .quality: ["1", "100"],
    .encodedBytes: ["1", "9223372036854775807"],
    .resize: [
      #"{"width":1}"#, #"{"height":65535}"#, #"{"width":1,"height":2,"fit":"contain"}"#,
      #"{"width":1,"height":2,"fit":"fill","enlarge":true}"#,
      #"{"width":1,"height":2,"fit":"cover","crop":"centre","linear":false}"#,
      #"{"width":1,"height":2,"fit":"cover","crop":"attention","linear":true}"#,
      #"{"width":1,"height":2,"fit":"cover","crop":{"x":0.4,"y":1}}"#,
      ##"{"width":1,"height":2,"fit":"pad","background":"#ff800080"}"##,
      #"{"area":{"x":1,"y":2,"width":3,"height":4}}"#,
      ##"{"area":{"x":0.0,"y":0.25,"width":1.0,"height":0.5},"width":3,"background":"#FFFFFF"}"##,
      ##"{"background":"#000000"}"##,
      #"{"area":{"width":3,"height":4,"crop":"attention"},"width":2}"#,
      #"{"area":{"width":3,"height":4,"crop":{"x":1,"y":0}}}"#, #"{"area":{"width":3,"height":4}}"#,
      #"{"width":1,"height":2,"fit":"cover-alike","crop":"attention"}"#,
      #"{"width":1,"height":2,"fit":"cover-down"}"#, #"{"scale":0.5,"enlarge":true}"#,
      #"{"min_width":1,"min_height":65535,"crop":{"x":0,"y":0}}"#, #"{"rotate":270}"#,
      #"{"width":1,"padding":{"top":0,"right":1,"bottom":2,"left":10000}}"#,
    ],
  ]

  private static let flags = ["true", "false"]
  private static let strange = #""\"\\\n\u001f\u007f\u20ac/é""#

  private static func names<Word: RawRepresentable<String> & CaseIterable>(
    _ type: Word.Type
  ) -> [String] {
    type.allCases.map { "\"\($0.rawValue)\"" }
  }

  /// Values of the fields of other commands that no fetch has, or has with others.
  private static let otherValues: [RequestField: [String]] = [
    .url: [#""http://h/a""#, strange], .tag: [letters(64), strange], .all: ["true"],
    .tier: names(Tier.self), .prefix: [#""http://h/\u003c""#], .host: [#""h""#],
    .olderThan: ["0", "315360000"], .unusedFor: ["1"], .expired: flags, .soft: flags,
    .limit: ["1", "100", "1000"], .cursor: [letters(64), strange],
    .data: [letters(1), letters(60_000)], .audience: [#""all""#], .part: [letters(1), letters(256), strange],
  ]

  private static func values(_ field: RequestField, of command: Request.Command) -> [String] {
    switch (command, field) {
    case (.subscribe, .events):
      [#"["jobs"]"#, #"["config","cache"]"#, #"["jobs","cache","pressure","config"]"#]
    case (.purge, .tier): names(PurgeRequest.Scope.self)
    // An empty one alone would be refused.
    case (.purge, .identifier): [letters(256), strange]
    default: otherValues[field] ?? values[field] ?? []
    }
  }

  /// What a command cannot do without; a `cancel` names one thing alone.
  private static let needed: [Request.Command: RequestField] = [
    .fetch: .url, .put: .url, .query: .url, .wait: .receipt,
  ]

  /// A line with some fields, and with those that the command needs.
  private func line(_ command: Request.Command, _ fields: [(RequestField, String)]) -> String {
    var fields = fields
    if let needed = Self.needed[command], !fields.contains(where: { $0.0 == needed }) {
      fields.append((needed, Self.values(needed, of: command)[0]))
    }
    let texts = fields.map { #","\#($0.0.name)":\#($0.1)"# }
    return #"{"cmd":"\#(command.rawValue)"\#(texts.joined())}"#
  }

  @Test(arguments: Request.Command.allCases)
  func `every field is written as it is read, with all its values`(
    _ command: Request.Command
  ) throws {
    for field in command.fields.fields {
      let values = Self.values(field, of: command)
      try #require(!values.isEmpty, "\(field)")
      for value in values {
        let read = try #require(request(line(command, [(field, value)])))
        #expect(request(line(read)) == read, "\(line(read))")
      }
    }
    if command != .cancel {
      let read = try #require(request(line(command, [])))
      #expect(request(line(read)) == read)
    }
  }

  @Test(arguments: Request.Command.allCases)
  func `every field makes a difference`(_ command: Request.Command) throws {
    for field in command.fields.fields {
      let lines = Self.values(field, of: command).map { value in
        request(line(command, [(field, value)])).map { line($0) }
      }
      #expect(lines.contains { $0?.contains("\"\(field.name)\"") == true }, "\(field)")
    }
  }

  @Test(arguments: Request.Command.allCases.filter { $0 != .cancel })
  func `fields do not disturb each other`(_ command: Request.Command) throws {
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<1_000 {
      let some = command.fields.fields.filter { _ in .random(using: &generator) }
      let text = line(
        command,
        some.map { ($0, Self.values($0, of: command).randomElement(using: &generator) ?? "null") })
      let read = try #require(request(text))
      #expect(request(line(read)) == read, "\(line(read))")
    }
  }

  @Test func `a fetch of a URL alone is as short as can be`() {
    #expect(line(FetchRequest(url: "é\"")) == #"{"cmd":"fetch","url":"é\""}"#)
  }

  @Test func `a picture that comes as a descriptor is kept in memory alone, unless that is said`() {
    #expect(request(#"{"cmd":"fetch","url":"fd:"}"#) == .fetch(FetchRequest(url: "fd:")))
    #expect(FetchRequest(url: "fd:").store == .memory && FetchRequest(url: "fd:a").store == .all)
    var kept = FetchRequest(url: "fd:")
    kept.store = .all
    #expect(line(kept) == #"{"cmd":"fetch","url":"fd:","store":"all"}"#)
    #expect(request(line(kept)) == .fetch(kept))
  }

  @Test func `an id comes before the URL`() {
    let fetch = FetchRequest(url: "u")
    #expect(line(fetch, id: .integer(-1)) == #"{"cmd":"fetch","id":-1,"url":"u"}"#)
    #expect(line(fetch, id: .string("a\"")) == #"{"cmd":"fetch","id":"a\"","url":"u"}"#)
  }

  @Test func `what is as usual is left out`() {
    let usual = wanted { fetch in
      fetch.extras.headers = [RequestHeader(name: "A", value: "b")]
      fetch.extras.headers = []
      fetch.form = PictureForm(
        box: PictureForm.Box(width: 1, height: 1, fit: .contain, crop: .centre))
    }
    #expect(
      line(usual) == #"{"cmd":"fetch","url":"http://h/a","resize":{"width":1,"height":1}}"#)
  }

  @Test func `a value that the daemon refuses is written all the same`() {
    let wrong = wanted { fetch in
      fetch.form.quality = 101
      fetch.extras.tags = [""]
      fetch.form.box = PictureForm.Box(width: nil, height: nil)
    }
    #expect(
      line(wrong)
        == #"{"cmd":"fetch","url":"http://h/a","resize":{},"quality":101,"tags":[""]}"#)
    #expect(refusal(line(wrong))?.code == .badRequest)
  }

  @Test func `a request that has lost its extras is as one that never had any`() {
    var fetch = FetchRequest(url: "u")
    fetch.extras.slot = "s"
    #expect(fetch.hasExtras && fetch != FetchRequest(url: "u"))
    fetch.extras.slot = nil
    #expect(!fetch.hasExtras && fetch == FetchRequest(url: "u"))
  }
}
