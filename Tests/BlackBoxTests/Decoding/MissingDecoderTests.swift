import ImgdTestSupport
import ImgdWire
import Testing

/// A daemon without a decoder beside it.
struct MissingDecoderTests {
  private let origin: OriginServer
  private let directory: TemporaryDirectory
  private let daemon: DaemonProcess
  private let client: TestClient

  init() throws {
    origin = try OriginServer()
    directory = TemporaryDirectory()
    let program = directory.path + "/imgd"
    let copy = try ChildProcess.run("/bin/cp", [BuiltProduct.path(of: "imgd"), program])
    #expect(copy.code == 0, "\(copy.output)")
    daemon = try DaemonProcess(program: program)
    client = try daemon.connect()
    origin.plan("/a.png", .picture(TestPicture.png(.gradient(width: 40, height: 30))))
  }

  private func ask(_ fields: String) throws -> JSONValue {
    try client.ask(#"{"cmd":"fetch","url":"\#(origin.url("/a.png"))",\#(fields)}"#)
  }

  @Test func `what needs a decoder is unavailable, and all else works`() throws {
    for fields in [
      #""deliver":"pixels""#, #""resize":{"width":9}"#, #""format":"webp""#, #""quality":50"#,
    ] {
      let line = try ask(fields)
      #expect(line.failureCode == "unavailable")
      #expect(line.failureMessage.contains("the decoder is not installed"), "\(line.text)")
      #expect(line.failureMessage.contains("imgd-decoder"))
    }
    #expect(try ask(#""deliver":"none""#)["source"]?.string == "memory")
    for deliver in ["path", "inline", "fd"] {
      #expect(try ask(#""deliver":"\#(deliver)""#)["ok"] == true)
    }
    // What needs no change needs no decoder.
    #expect(try ask(#""resize":{"width":40}"#)["ok"] == true)
    #expect(try ask(#""format":"png""#)["ok"] == true)
    #expect(origin.count("/a.png") == 1)
  }

  @Test func `a picture comes without a description, and it is said why`() throws {
    let line = try ask(#""describe":true"#)
    #expect(line["ok"] == true && line["thumbhash"] == .null && line["average"] == .null)
    #expect(line["describe_note"]?.string?.contains("not installed") == true)
  }

  @Test func `hello and stats say that there is none`() throws {
    for command in ["hello", "stats"] {
      let decode = try #require(try client.ask(#"{"cmd":"\#(command)"}"#)["decode"])
      #expect(decode["sandbox"]?.string == "off")
      #expect(
        decode["decodes"]?.array?.isEmpty == true && decode["encodes"]?.array?.isEmpty == true)
      #expect(decode["note"]?.string?.contains("the decoder is not installed") == true)
    }
    let features = try client.ask(#"{"cmd":"hello"}"#)["features"]?.array ?? []
    for feature in ["pixels", "resize", "format", "describe"] {
      #expect(!features.contains(.string(feature)))
    }
  }
}

/// A daemon that has its decoder.
struct PresentDecoderTests {
  @Test func `hello and stats say what it can do, and that it is shut off`() throws {
    let stage = try Stage()
    for command in ["hello", "stats"] {
      let decode = try #require(try stage.client.ask(#"{"cmd":"\#(command)"}"#)["decode"])
      #expect(decode["sandbox"]?.string == "full", "\(decode.text)")
      for format in ["jpeg", "png", "gif", "webp", "avif"] {
        #expect(decode["decodes"]?.array?.contains(.string(format)) == true)
      }
      #expect(
        decode["encodes"]
          == .array(["jpeg", "png", "gif", "webp", "avif", "tiff", "jxl"].map { .string($0) }),
        "what `format` may ask for")
      #expect(decode["library"]?.string?.contains("libvips") == true, "\(decode.text)")
    }
    let features = try stage.client.ask(#"{"cmd":"hello"}"#)["features"]?.array ?? []
    for feature in ["pixels", "resize", "format", "describe"] {
      #expect(features.contains(.string(feature)))
    }
  }
}
