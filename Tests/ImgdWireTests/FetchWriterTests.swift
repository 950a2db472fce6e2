import ImgdTestSupport
import Testing

@testable import ImgdWire

/// A fetch is written as the line that is read as the same fetch.
@Suite struct FetchWriterTests {
  private func line(_ fetch: FetchRequest, id: RequestID = .none) -> String {
    var json = JSONWriter()
    json.beginObject()
    fetch.write(to: &json, id: id)
    json.endObject()
    return String(decoding: json.bytes, as: UTF8.self)
  }

  private func wanted(_ change: (inout FetchRequest) -> Void) -> FetchRequest {
    var fetch = FetchRequest(url: "http://h/a")
    change(&fetch)
    return fetch
  }

  /// Values of each field as a client writes them.
  private static let values: [RequestField: [String]] = [
    .url: [], .identifier: [#""""#, letters(256), strange],
    .receipt: [#""5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11""#],
    .cache: names(CacheMode.self), .deliver: names(Delivery.self), .store: names(StorePolicy.self),
    .format: names(OutputFormat.self), .priority: names(Priority.self),
    .frames: names(FrameChoice.self), .slot: [letters(128), strange],
    .share: [letters(64), strange],
    .headers: ["{}", #"{"A":"","!#$%&'*+-.^_`|~09azAZ":" \t~ "}"#, #"{"B":"\"é\\","A":"1"}"#],
    .tags: ["[]", #"["a"]"#, "[\(strange),\(letters(64))]"],
    .progress: flags, .events: flags, .wait: flags, .detach: flags, .http: flags,
    .describe: flags, .timeoutMilliseconds: ["1", "86400000"],
    .maxBytes: ["1", "9223372036854775807"], .ttl: ["0", "315360000"], .quality: ["1", "100"],
    .resize: [
      #"{"width":1}"#, #"{"height":65535}"#, #"{"width":1,"height":2,"fit":"contain"}"#,
      #"{"width":1,"height":2,"fit":"fill","enlarge":true}"#,
      #"{"width":1,"height":2,"fit":"cover","crop":"centre","linear":false}"#,
      #"{"width":1,"height":2,"fit":"cover","crop":"attention","linear":true}"#,
    ],
  ]

  private static let flags = ["true", "false"]
  private static let strange = #""\"\\\n\u001f\u007f\u20ac/é""#

  private static func names<Word: RawRepresentable<String> & CaseIterable>(
    _ type: Word.Type
  ) -> [String] {
    type.allCases.map { "\"\($0.rawValue)\"" }
  }

  @Test func `every field is written as it is read, with all its values`() throws {
    for field in Request.Command.fetch.fields.fields {
      for value in try #require(Self.values[field], "\(field)") {
        let read = try #require(fetch("\"\(field.name)\":\(value)"))
        let written = line(read)
        #expect(request(written) == .fetch(read), "\(written)")
      }
    }
  }

  @Test func `every field makes a difference`() throws {
    for field in Request.Command.fetch.fields.fields where field != .url {
      let lines = try #require(Self.values[field]).map { value in
        fetch("\"\(field.name)\":\(value)").map { line($0) }
      }
      #expect(lines.contains { $0?.contains("\"\(field.name)\"") == true }, "\(field)")
    }
  }

  @Test func `fields do not disturb each other`() throws {
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<2_000 {
      let some = Request.Command.fetch.fields.fields.filter {
        $0 != .url && .random(using: &generator)
      }
      let text = some.map { field in
        "\"\(field.name)\":\(Self.values[field]?.randomElement(using: &generator) ?? "null")"
      }
      let read = try #require(fetch(text.joined(separator: ",")))
      let written = line(read)
      #expect(request(written) == .fetch(read), "\(written)")
    }
  }

  @Test func `a fetch of a URL alone is as short as can be`() {
    #expect(line(FetchRequest(url: "é\"")) == #"{"cmd":"fetch","url":"é\""}"#)
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
