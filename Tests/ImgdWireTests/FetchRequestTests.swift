import Testing

@testable import ImgdWire

struct FetchRequestTests {
  @Test func `a fetch with every field has all of them`() throws {
    let fetch = try #require(
      self.fetch(
        """
        "identifier":"i","receipt":"5D0C9B7E-2A43-4B57-9A57-2C2E3C9E1B11","cache":"reload",\
        "deliver":"pixels","store":"memory","resize":{"width":640,"height":480,"fit":"cover",\
        "enlarge":true,"crop":"attention","linear":true},"format":"avif","quality":7,\
        "frames":"first","describe":true,"priority":"high","slot":"s","headers":{"Accept":"a/b",\
        "X-Y":"é\\tz"},"progress":true,"events":true,"wait":false,"wait_online":false,\
        "detach":true,\
        "timeout_ms":1500,"max_bytes":1,"tags":["a","b"],"ttl":60,"http":true,"share":"10.0.0.1"
        """))
    #expect(fetch.url == "u" && fetch.identifier == "i" && fetch.cache == .reload)
    #expect(fetch.receipt == ReceiptID("5d0c9b7e-2a43-4b57-9a57-2c2e3c9e1b11"))
    #expect(fetch.delivery == .pixels && fetch.store == .memory && fetch.form.formats == [.avif])
    #expect(fetch.form.quality == 7 && fetch.form.frames == .first && fetch.describe)
    #expect(
      fetch.form.box
        == PictureForm.Box(
          width: 640, height: 480, fit: .cover, crop: .attention, enlarge: true, linear: true))
    #expect(fetch.priority == .high && fetch.slot == "s")
    #expect(
      fetch.headers == [
        RequestHeader(name: "Accept", value: "a/b"), RequestHeader(name: "X-Y", value: "é\tz"),
      ])
    #expect(fetch.progress && fetch.events && !fetch.wait && fetch.detach && fetch.http)
    #expect(!fetch.waitsOnline)
    #expect(fetch.timeoutMilliseconds == 1500 && fetch.maxBytes == 1 && fetch.ttl == 60)
    #expect(fetch.tags == ["a", "b"] && fetch.share == "10.0.0.1")
  }

  @Test func `a fetch with only a URL has the defaults and no box of extras`() throws {
    guard case .fetch(let fetch) = request(#"{"cmd":"fetch","url":"u"}"#) else { return }
    #expect(fetch.cache == .default_ && fetch.delivery == .path && fetch.store == .all)
    #expect(fetch.priority == .normal && fetch.form.formats == [.original] && fetch.wait)
    #expect(!fetch.progress && !fetch.events && !fetch.detach && !fetch.http)
    #expect(fetch.waitsOnline)
    #expect(!fetch.hasExtras && fetch.identifier == nil && fetch.headers.isEmpty)
    #expect(fetch.tags.isEmpty && fetch.form.box == nil && fetch.receipt == nil)
    #expect(self.fetch(#""deliver":"fd""#)?.hasExtras == false)
  }

  private func fetch(_ fields: String) -> FetchRequest? {
    ImgdWireTests.fetch(fields)
  }

  @Test func `a fetch accepts every name of every option`() {
    for mode in CacheMode.allCases {
      #expect(fetch(#""cache":"\#(mode.rawValue)""#)?.cache == mode)
    }
    for delivery in Delivery.allCases {
      #expect(fetch(#""deliver":"\#(delivery)""#)?.delivery == delivery)
    }
    for store in StorePolicy.allCases { #expect(fetch(#""store":"\#(store)""#)?.store == store) }
    for priority in Priority.allCases {
      #expect(fetch(#""priority":"\#(priority)""#)?.priority == priority)
    }
    for format in OutputFormat.alone {
      #expect(fetch(#""format":"\#(format)""#)?.form.formats == [format])
    }
    #expect(fetch(#""format":["jpg","heic","original"]"#)?.form.formats == [.jpeg, .heic, .original])
  }

  @Test func `a fetch with the cache mode no-store or peek is stored nowhere`() {
    #expect(fetch(#""cache":"no-store""#)?.store == StorePolicy.none)
    #expect(fetch(#""store":"disk","cache":"no-store""#)?.store == StorePolicy.none)
    #expect(fetch(#""store":"disk","cache":"peek""#)?.store == StorePolicy.none)
  }

  @Test func `priorities are ordered, and store policies name their tiers`() {
    #expect(Priority.low < .normal && Priority.normal < .high && Priority.allCases.max() == .high)
    #expect(StorePolicy.allCases.map(\.allowsMemory) == [true, true, false, false, true, false])
    #expect(StorePolicy.allCases.map(\.allowsDisk) == [true, false, true, false, true, false])
    #expect(
      StorePolicy.allCases.map(\.allowsFleet) == [true, false, false, true, false, false])
  }

  static let accepted = [
    #""identifier":"""#, #""identifier":\#(letters(256))"#, #""slot":\#(letters(128))"#,
    #""timeout_ms":1"#, #""timeout_ms":86400000"#, #""timeout_ms":1.0"#, #""max_bytes":1e3"#,
    #""max_bytes":9223372036854775807"#, #""ttl":0"#, #""ttl":315360000"#, #""tags":[]"#,
    #""tags":[\#(Array(repeating: letters(64), count: 16).joined(separator: ","))]"#,
    #""headers":{}"#, #""headers":{"a":"","!#$%&'*+-.^_`|~09azAZ":" \t~ "}"#,
    #""headers":{"Authorization":"Basic eA==","Cookie":"a=b"}"#,
    #""resize":{"width":1}"#, #""resize":{"height":65535}"#, #""resize":{"width":1,"x_":[]}"#,
    #""resize":{"width":2.0,"height":1,"fit":"fill","enlarge":false}"#,
    #""resize":{"width":1,"height":1,"fit":"cover","crop":"centre"}"#, #""quality":1"#,
    #""quality":100"#, #""frames":"auto""#, #""describe":false"#, #""share":"x""#,
    #""share":\#(letters(64))"#, #""encoded_bytes":1"#, #""encoded_bytes":9223372036854775807"#,
  ]

  @Test(arguments: accepted)
  func `a fetch accepts values up to their limits`(fields: String) {
    #expect(fetch(fields) != nil)
  }

  static let refused: [(String, String)] = [
    (#""identifier":null"#, "identifier"), (#""identifier":\#(letters(257))"#, "identifier"),
    (#""cache":"Reload""#, "cache"), (#""cache":"default_""#, "cache"), (#""cache":1"#, "cache"),
    (#""cache":"a name that is far too long""#, "cache"), (#""deliver":true"#, "deliver"),
    (#""store":"""#, "store"), (#""format":"gjf""#, "format"), (#""priority":1"#, "priority"),
    (#""slot":"""#, "slot"), (#""slot":\#(letters(129))"#, "slot"), (#""slot":[]"#, "slot"),
    (#""share":"""#, "share"), (#""share":\#(letters(65))"#, "share"), (#""share":7"#, "share"),
    (#""share":null"#, "share"), (#""share":["a"]"#, "share"),
    (#""encoded_bytes":0"#, "encoded_bytes"), (#""encoded_bytes":"1""#, "encoded_bytes"),
    (#""progress":"true""#, "progress"), (#""events":["jobs"]"#, "events"), (#""wait":0"#, "wait"),
    (#""wait_online":1"#, "wait_online"), (#""detach":null"#, "detach"), (#""http":1"#, "http"),
    (#""receipt":"5d0c9b7e2a434b579a572c2e3c9e1b11""#, "receipt"), (#""receipt":1"#, "receipt"),
    (#""timeout_ms":0"#, "timeout_ms"), (#""timeout_ms":86400001"#, "timeout_ms"),
    (#""timeout_ms":0.5"#, "timeout_ms"), (#""max_bytes":0"#, "max_bytes"),
    (#""max_bytes":9223372036854775808"#, "max_bytes"), (#""max_bytes":-1e300"#, "max_bytes"),
    (#""ttl":-1"#, "ttl"), (#""ttl":315360001"#, "ttl"), (#""ttl":"60""#, "ttl"),
    (#""tags":"a""#, "tags"), (#""tags":[""]"#, "tags"), (#""tags":[1]"#, "tags"),
    (#""tags":{}"#, "tags"), (#""tags":[\#(letters(65))]"#, "tags"),
    (#""tags":[\#(Array(repeating: letters(1), count: 17).joined(separator: ","))]"#, "tags"),
    (#""resize":1"#, "resize"), (#""resize":{}"#, "resize"), (#""resize":{"width":0}"#, "resize"),
    (#""resize":{"width":65536}"#, "resize"), (#""resize":{"width":"1"}"#, "resize"),
    (#""resize":{"width":1.5}"#, "resize"), (#""resize":{"width":1,"fit":"cover"}"#, "resize"),
    (#""resize":{"height":1,"fit":"fill"}"#, "resize"), (#""resize":{"fit":"contain"}"#, "resize"),
    (#""resize":{"width":1,"fit":"crop"}"#, "resize"), (#""resize":{"width":1,"fit":1}"#, "resize"),
    (#""resize":{"width":1,"enlarge":1}"#, "resize"),
    (#""resize":{"width":1,"crop":"attention"}"#, "resize"),
    (#""resize":{"width":1,"height":1,"fit":"cover","crop":"top"}"#, "resize"),
    (#""resize":{"width":1,"linear":"yes"}"#, "resize"), (#""quality":0"#, "quality"),
    (#""quality":101"#, "quality"), (#""frames":"some""#, "frames"),
    (#""layout":"rgb8""#, "layout"), (#""layout":null"#, "layout"),
    (#""format":"bmp""#, "format"), (#""format":[]"#, "format"), (#""format":{}"#, "format"),
    (#""format":["webp","png","webp"]"#, "format"), (#""format":["webp",1]"#, "format"),
    (#""format":["jpg","jpeg"]"#, "format"), (#""format":["webp","wepb"]"#, "format"), (#""describe":1"#, "describe"),
    (#""headers":[]"#, "headers"), (#""headers":{"":"x"}"#, "headers"),
    (#""headers":{"a b":"x"}"#, "headers"), (#""headers":{"a:":"x"}"#, "headers"),
    (#""headers":{"é":"x"}"#, "headers"), (#""headers":{"a":1}"#, "headers"),
    (#""headers":{"a":"x\r\ny"}"#, "headers"), (#""headers":{"a":"\u007f"}"#, "headers"),
    (#""headers":{"a":"\u0001"}"#, "headers"), (#""headers":{"a":"1","A":"2"}"#, "headers"),
  ]

  @Test(arguments: refused)
  func `a fetch with a wrong value is refused with the name of the field`(
    fields: String, field: String
  )
    throws
  {
    let error = try #require(refusal(#"{"cmd":"fetch","url":"u",\#(fields)}"#))
    #expect(error.code == .badRequest && error.message.contains("\"\(field)"), "\(error)")
    #expect(error.details == [.init("field", .string(field))])
  }

  @Test func `a fetch may not set the headers that frame, route or encode the message`() throws {
    for name in [
      "Host", "Content-Length", "Range", "Connection", "Keep-Alive", "Proxy-Authorization",
      "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
      "Accept-Encoding",
    ] {
      for spelling in [name, name.lowercased(), name.uppercased()] {
        let error = try #require(
          refusal(#"{"cmd":"fetch","url":"u","headers":{"Accept":"x","\#(spelling)":"x"}}"#))
        #expect(error.code == .badRequest && error.message.contains("\"\(spelling)\""))
      }
    }
  }

  @Test func `a fetch has at most 64 headers`() {
    func headers(_ count: Int) -> String {
      #""headers":{"# + (0..<count).map { "\"h\($0)\":\"\"" }.joined(separator: ",") + "}"
    }
    #expect(fetch(headers(64))?.headers.count == 64)
    #expect(refusal(#"{"cmd":"fetch","url":"u",\#(headers(65))}"#)?.code == .badRequest)
  }

  @Test func `a fetch refuses unknown members of a resize`() {
    let error = refusal(#"{"cmd":"fetch","url":"u","resize":{"width":1,"depth":1}}"#)
    #expect(error?.code == .unknownField)
    #expect(error?.details == [.init("field", "resize.depth")])
  }

  @Test func `a URL that is empty or too long is refused, with the slot of the fetch`() {
    for length in [0, 8193] {
      let line = #"{"cmd":"fetch","slot":"s","url":\#(letters(length))}"#
      let parsed = RequestParser.parse(Array(line.utf8).span)
      guard case .refused(let error) = parsed.outcome else {
        Issue.record("accepted")
        continue
      }
      #expect(
        error.code == .badURL && error.message.contains(length == 0 ? "is empty" : "has 8193 bytes")
      )
      #expect(parsed.slot == "s")
    }
    #expect(refusal(#"{"cmd":"fetch","url":7}"#)?.code == .badRequest)
    #expect(request(#"{"cmd":"fetch","url":\#(letters(8192))}"#) != nil)
  }
}
