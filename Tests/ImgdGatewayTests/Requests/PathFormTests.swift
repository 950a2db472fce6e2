import ImgdWire
import Testing

@testable import ImgdGateway

struct PathFormTests {
  private static let source = "plain/https://pictures.example/cat.jpg"

  @Test(arguments: [
    ("", ImgdGatewayTests.cat()),
    ("rs:fit:300:200:0/", ImgdGatewayTests.cat { ($0.width, $0.height) = (300, 200) }),
    (
      "resize:fill:300:200:1/",
      ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit, $0.enlarge) = (300, 200, .cover, true) }
    ),
    (
      "rs:force:300:200/",
      ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (300, 200, .fill) }
    ),
    ("rs::300/", ImgdGatewayTests.cat { $0.width = 300 }),
    ("rs:fill:300:0/", ImgdGatewayTests.cat { $0.width = 300 }),
    ("s:0:200/", ImgdGatewayTests.cat { $0.height = 200 }),
    (
      "size:300:200:t/",
      ImgdGatewayTests.cat { ($0.width, $0.height, $0.enlarge) = (300, 200, true) }
    ),
    (
      "rt:fill/w:3/h:2/",
      ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (3, 2, .cover) }
    ),
    ("resizing_type:fit/width:3/height:0/", ImgdGatewayTests.cat { $0.width = 3 }),
    ("enlarge:true/w:3/", ImgdGatewayTests.cat { ($0.width, $0.enlarge) = (3, true) }),
    ("el:f/w:3/", ImgdGatewayTests.cat { $0.width = 3 }),
    ("el:True/w:3/ex:0:no/", ImgdGatewayTests.cat { ($0.width, $0.box.enlarge) = (3, true) }),
    ("w:100/dpr:1.5/", ImgdGatewayTests.cat { $0.width = 150 }),
    (
      "rs:fill:3:2/g:sm/",
      ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit, $0.crop) = (3, 2, .cover, .attention) }
    ),
    (
      "rs:fill:3:2/g:fp:0.4:0.3/",
      ImgdGatewayTests.cat {
        ($0.width, $0.height, $0.fit, $0.crop) = (3, 2, .cover, point(0.4, 0.3))
      }
    ),
    (
      "s:3:2/ex:1/bg:ff8000/",
      ImgdGatewayTests.cat {
        ($0.width, $0.height, $0.fit) = (3, 2, .pad)
        $0.background = PictureForm.Background(red: 255, green: 128, blue: 0)
      }
    ),
    ("extend:t/w:3/", ImgdGatewayTests.cat { $0.width = 3 }),
    (
      "ex:0/rs:fill:3:2/", ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (3, 2, .cover) }
    ),
    (
      "c:30:40:nowe:10:20/",
      ImgdGatewayTests.cat { $0.area = .pixels(x: 10, y: 20, width: 30, height: 40) }
    ),
    ("c:30:0/", ImgdGatewayTests.cat { $0.area = .around(.centre, width: 30, height: 65_535) }),
    ("c:30:40/g:sm/", ImgdGatewayTests.cat { $0.area = .around(.attention, width: 30, height: 40) }),
    (
      "c:30:40:soea/",
      ImgdGatewayTests.cat { $0.area = .around(point(1, 1), width: 30, height: 40) }
    ),
    (
      "crop:0.5:0:ea:0.1/w:3/",
      ImgdGatewayTests.cat {
        $0.width = 3
        $0.area = .fractions(x: Fraction(0.4), y: Fraction(0), width: Fraction(0.5), height: Fraction(1))
      }
    ),
    (
      "c:0.5:0.5:fp:0.9:0.5/",
      ImgdGatewayTests.cat {
        $0.area = .fractions(
          x: Fraction(0.5), y: Fraction(0.25), width: Fraction(0.5), height: Fraction(0.5))
      }
    ),
    ("c:0:0/", ImgdGatewayTests.cat()),
    ("w:9/w:3/", ImgdGatewayTests.cat { $0.width = 3 }),
    ("w:9/rs:fit:0:3/", ImgdGatewayTests.cat { $0.height = 3 }),
    ("f:png/f:webp/", ImgdGatewayTests.cat { $0.format = .webp }),
    (
      "rs:fill-down:3:2/g:no:0:0/",
      ImgdGatewayTests.cat {
        ($0.width, $0.height, $0.fit, $0.crop) = (3, 2, .coverDown, point(0.5, 0))
      }
    ),
    ("rs:auto:3:2/", ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (3, 2, .coverAlike) }),
    (
      "rs:fill:3:2/dpr:2/",
      ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (6, 4, .coverDown) }
    ),
    ("w:100/z:0.5/", ImgdGatewayTests.cat { $0.width = 50 }),
    ("rs:fill:3:2/z:2/", ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (6, 4, .cover) }),
    ("z:0.5/", ImgdGatewayTests.cat { $0.box.scale = Fraction(0.5) }),
    ("z:2/", ImgdGatewayTests.cat()),
    ("mw:30/mh:0/", ImgdGatewayTests.cat { $0.box.minWidth = 30 }),
    ("rot:450/", ImgdGatewayTests.cat { $0.box.rotate = 90 }), ("rot:0/", ImgdGatewayTests.cat()),
    (
      "w:9/pd:1:2/dpr:3/",
      ImgdGatewayTests.cat {
        $0.width = 27
        $0.box.padding = PictureForm.Padding(top: 3, right: 6, bottom: 3, left: 6)
      }
    ),
    ("pd:0/", ImgdGatewayTests.cat()),
    ("bg:255:128:0/", ImgdGatewayTests.cat { $0.background = .init(red: 255, green: 128, blue: 0) }),
    ("bg:ff8000/bg:/", ImgdGatewayTests.cat()),
    ("fq:webp:70:jpg:60/f:jpg/", ImgdGatewayTests.cat { ($0.format, $0.quality) = (.jpeg, 60) }),
    ("q:0/", ImgdGatewayTests.cat()), ("exp:0/", ImgdGatewayTests.cat()),
    ("sm:1/ar:0/scp:1/kcr:1/", ImgdGatewayTests.cat()),
    (
      "fn:a%20b:0/att:1/",
      ImgdGatewayTests.cat { $0.disposition = Disposition(filename: "a b", isAttachment: true) }
    ),
    ("fn:Y2Fm:1/", ImgdGatewayTests.cat { $0.disposition.filename = "caf" }),
    ("w:9/pr:icon/", ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (32, 32, .cover) }),
    ("pr:icon:wide/", ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (64, 32, .cover) }),
    ("gravity:ce/w:3/", ImgdGatewayTests.cat { $0.width = 3 }),
    ("quality:80/format:jpg/", ImgdGatewayTests.cat { ($0.format, $0.quality) = (.jpeg, 80) }),
    ("q:80/f:auto/", ImgdGatewayTests.cat { ($0.format, $0.quality) = (.auto, 80) }),
    ("mb:9000/f:webp/", ImgdGatewayTests.cat { ($0.format, $0.mostBytes) = (.webp, 9_000) }),
    ("max_bytes:9/mb:0/", ImgdGatewayTests.cat()),
    ("ext:webp/", ImgdGatewayTests.cat { $0.format = .webp }),
    ("cb:a:b:c/", ImgdGatewayTests.cat()),
    ("cachebuster:/exp:5/", ImgdGatewayTests.cat { $0.expires = 5 }),
    ("expires:5/", ImgdGatewayTests.cat { $0.expires = 5 }),
    ("pr:icon/", ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (32, 32, .cover) }),
    (
      "preset:icon/w:16/", ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (16, 32, .cover) }
    ),
  ])
  func `options are read`(options: String, request: PictureRequest) throws {
    let icon = try Preset(parsing: "icon:32x32:cover")
    let wide = try Preset(parsing: "wide:64x")
    for start in ["/", "/insecure/", "/unsafe/", "/_/"] {
      var read = try picture(start + options + Self.source, presets: [icon, wide])
      read?.presets = []
      #expect(read == request)
    }
  }

  @Test(arguments: [
    ("blur:3/", "blur", "The options are resize|rs, size|s"),
    ("widht:3/", "widht", #"did you mean "width"?"#), (":/", "", "there is no option"),
    ("rs:fit:3:2:0:1:ce:0:0:1/", "resize", "fp:x:y"), ("w:3:4/", "width", "takes 1"),
    ("g:ce:5:0/", "gravity", "has an offset"), ("g:sm:1/", "gravity", "fp:x:y"),
    ("rs:contain:3/", "resize", #""resize:type" was "contain"; it takes fit, fill, fill-down, force or auto"#),
    ("g:up/", "gravity", "ce, no"), ("g:/", "gravity", "is empty"), ("g:fp:2:0/", "gravity", "fp:x:y"),
    ("g:fp:0.5/", "gravity", "fp:x:y"), ("g:no:x/", "gravity", #"was "x""#),
    ("ex:1:no/", "extend", "ce"), ("ex:x/", "extend", "1, t"), ("bg:red/", "background", "rrggbb"),
    ("bg:1:2:256/", "background", "255"), ("c:70000:1/", "crop", "65535"), ("c:3:0.5/", "crop", "both pixels"),
    ("c:3:4:soea:1:1/", "crop", "only with nowe"), ("c:0.5:0.5:sm/", "crop", "pixels"),
    ("c:0.5:0.5:no:0:5/", "crop", "below 1"), ("rs:fit:x/", "resize", #""resize:width" was "x""#),
    ("w:/", "width", #""width" is empty"#), ("h:65536/", "height", "65535"),
    ("el:yes/", "enlarge", "1, t, true, 0, f or false"),
    ("dpr:9/", "dpr", "1.5"), ("dpr:0/", "dpr", "above 0"), ("z:1:2/", "zoom", "both sides"),
    ("pd:-1/", "padding", "10000"), ("rot:45/", "rotate", "270"), ("q:101/", "quality", "100"),
    ("fq:webp/", "format_quality", "and its quality"), ("f:heic/", "format", "webp"), ("f:best/", "format", "webp"),
    ("fn:/", "filename", "is empty"), ("fn:a%2Fb/", "filename", "without slashes"),
    ("fn:*:1/", "filename", "name of a file"),
    ("exp:x/", "expires", "1970"), ("pr:/", "preset", #"preset """#), ("pr:x/", "preset", #"preset "x""#),
    ("mb:/", "max_bytes", "number of bytes"), ("mb:1k/", "max_bytes", "number of bytes"),
    ("wm:1/", "wm", "there is no option"),
  ])
  func `wrong options are named`(options: String, field: String, part: String) throws {
    let error = try #require(refusal(of: "/_/" + options + Self.source))
    #expect(error.status == 400 && error.code == "bad_request" && error.field == field)
    #expect(error.message.contains(part), "\(error.message)")
  }

  @Test(arguments: [
    ("/plain", "has no URL"), ("/plain/", "has no URL"), ("/w:3", "has no URL"),
    ("/_/w:3/", "neither"),
    ("/_/anything", "no scheme"), ("/_/a+b", "neither"), ("/_//plain/https://a.example/", "neither"),
    ("/plain/https://a.example/x@bmp", "%40"), ("/plain/https://a.example/x@", "%40"),
    ("/_/aHR0cHM6Ly9hLmV4YW1wbGU.bmp", ".bmp"), ("/_/aHR0cHM6Ly9hLmV4YW1wbGU.png.png", ".png.png"),
  ])
  func `a path ends with a URL and perhaps a format`(target: String, part: String) throws {
    let error = try #require(refusal(of: target))
    #expect(error.status == 400 && error.message.contains(part), "\(error.message)")
  }

  @Test(arguments: [
    ("https://a.example/x.jpg@webp", "https://a.example/x.jpg"),
    ("https://a.example/x%40y.jpg", "https://a.example/x@y.jpg"),
    ("https://a.example/x%40y@png", "https://a.example/x@y"),
    ("https://a.example/x?a=b&c=d", "https://a.example/x?a=b&c=d"),
    ("https://a.example/x%3Fy", "https://a.example/x?y"),
    ("https:/a.example/x", "https://a.example/x"), ("http:/a.example/x", "http://a.example/x"),
    ("https%3A%2F%2Fa.example%2Fx", "https://a.example/x"),
    ("https://a.example/a+b", "https://a.example/a+b"),
    ("https://a.example/a%20b%2520c", "https://a.example/a%20b%20c"),
    ("https://a.example/100%25", "https://a.example/100%25"),
    ("https://a.example/\"<>\\^`{|}", "https://a.example/%22%3C%3E%5C%5E%60%7B%7C%7D"),
    ("https://a.example/caf%C3%A9", "https://a.example/caf%C3%A9"),
    ("https://a.example/caf%E9", "https://a.example/caf%E9"),
    ("https://a.example/café", "https://a.example/caf%C3%A9"),
    ("https://a.example/plain/b:c/", "https://a.example/plain/b:c/"),
  ])
  func `the URL is unescaped once`(source: String, url: String) throws {
    #expect(try picture("/w:3/plain/" + source)?.url == url)
  }

  @Test(arguments: [
    "aHR0cHM6Ly9hLmV4YW1wbGUveD9hPWI", "aHR0cHM6Ly9hLmV4YW1wbGUveD9hPWI=", "aHR0cHM6Ly9h/LmV4YW1wbGUv/eD9hPWI",
  ])
  func `a URL may be in base64`(source: String) throws {
    let url = "https://a.example/x?a=b"
    #expect(try picture("/_/" + source)?.url == url && picture("/w:3/" + source)?.url == url)
    let webp = try picture("/f:png/" + source + ".webp")
    #expect(webp?.url == url && webp?.format == .webp)
    let signed = try PictureTarget.parse("/c2ln/" + source)
    #expect(signed?.signature == "c2ln")
    // What follows it is no part of it, as for imgproxy.
    #expect(try PictureTarget.parse("/c2ln/" + source + "?v=2") == signed)
    #expect(try PictureTarget.parse("/" + source.replacing("/", with: "")) == nil)
  }

  /// A user name, a control character and a scheme, as after `plain/`.
  @Test(arguments: [
    ("aHR0cDovL3VAYS5leGFtcGxl", "bad_url"), ("aHR0cDovL2EuZXhhbXBsZS8K", "bad_url"),
    ("ZmlsZTovLy9ldGMvcGFzc3dk", "blocked_scheme"),
  ])
  func `a URL in base64 is checked as any other`(source: String, code: String) {
    #expect(refusal(of: "/_/" + source)?.code == code)
  }

  @Test func `a preset named default is below every path`() throws {
    let presets = [try Preset(parsing: "default:64x64:cover:webp"), try Preset(parsing: "icon:32x32")]
    let usual = try picture("/w:9/" + Self.source, presets: presets)
    #expect(usual?.width == 9 && usual?.height == 64 && usual?.fit == .cover && usual?.format == .webp)
    let icon = try picture("/pr:icon/f:png/" + Self.source, presets: presets)
    #expect(icon?.width == 32 && icon?.fit == .cover && icon?.format == .png)
    let query = try picture("/fetch?url=https://pictures.example/cat.jpg", presets: presets)
    #expect(query == ImgdGatewayTests.cat())
  }

  @Test(arguments: ["%", "%2", "%zz"])
  func `escapes without digits are refused`(escape: String) {
    #expect(refusal(of: "/plain/https://a.example/" + escape)?.code == "bad_url")
  }

  @Test func `a signature is the first part and signs what follows`() throws {
    let signed = try PictureTarget.parse("/c2ln/w:3/" + Self.source + "?a")
    #expect(signed?.signature == "c2ln" && signed?.signedText == "/w:3/" + Self.source + "?a")
    let without = try PictureTarget.parse("/w:3/" + Self.source)
    #expect(without?.signature == nil && without?.signedText == "/w:3/" + Self.source)
  }
}
