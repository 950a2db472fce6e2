import ImgdTestSupport
import ImgdWire
import Testing

/// What is no picture, under the name and the type of one.
struct DisguiseTests {
  private static let daemon = SharedDaemon()
  private let stage: Stage

  init() throws { stage = try Self.daemon.stage() }

  private static let documents: [(name: String, text: String)] = [
    (
      "svg",
      #"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="/etc/passwd"/></svg>"#
    ),
    (
      "xml",
      #"<?xml version="1.0"?><!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>"#
    ),
    ("pdf", "%PDF-1.4\n1 0 obj\n<</Type/Catalog>>\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"),
    ("ps", "%!PS-Adobe-3.0\n(/etc/passwd) (r) file\nshowpage\n"),
    ("html", "<!DOCTYPE html><title>Not found</title><img src=a.png>"),
    ("mvg", "push graphic-context\nimage over 0,0 0,0 'https://127.0.0.1/'\npop graphic-context\n"),
    ("ppm", "P6 1 1 255\nabc"), ("text", "no picture at all"),
    ("fits", "SIMPLE  =                    T"),
  ]

  @Test func `a document is no picture, whatever its name and type`() throws {
    for (name, text) in Self.documents {
      for (suffix, type) in [("png", "image/png"), ("jpg", "image/jpeg"), ("svg", "image/svg+xml")] {
        let path = "/\(name).\(suffix)"
        stage.origin.plan(path, .picture(Array(text.utf8), type: type))
        for form in [#""deliver":"pixels""#, #""resize":{"width":10}"#, #""describe":true"#] {
          #expect(
            try stage.outcome(path, form + #","cache":"reload""#) == "not_an_image", "\(path)")
        }
      }
    }
    #expect(try stage.stats("decode", "failed") == 0)
  }

  @Test func `a picture is decoded by its bytes, not by its name or type`() throws {
    let pixels = TestPixels.plain([10, 20, 30, 255])
    for type in ["image/jpeg", "image/svg+xml", "application/pdf", "text/html", "nonsense"] {
      let path = "/a.\(type.split(separator: "/").last ?? "")"
      stage.origin.plan(path, .picture(TestPicture.png(pixels), type: type))
      #expect(try stage.pixels(of: path) == pixels)
    }
  }

  @Test func `a picture with a document behind it is a picture`() throws {
    let pixels = TestPixels.plain([10, 20, 30, 255])
    let behind = Array("<svg/>%PDF-1.4 <?php ?>".utf8)
    #expect(try stage.pixels(of: TestPicture.png(pixels) + behind, at: "/a") == pixels)
    let (bytes, _) = try stage.variant(of: "/a", #""resize":{"width":8}"#)
    #expect(!bytes.holds("svg") && !bytes.holds("php"))
  }
}
