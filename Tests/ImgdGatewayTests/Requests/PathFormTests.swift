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
    (
      "crop:0.5:1/w:3/",
      ImgdGatewayTests.cat {
        $0.width = 3
        $0.area = .fractions(
          x: Fraction(0), y: Fraction(0), width: Fraction(0.5), height: Fraction(1))
      }
    ),
    ("gravity:ce/w:3/", ImgdGatewayTests.cat { $0.width = 3 }),
    ("quality:80/format:jpg/", ImgdGatewayTests.cat { ($0.format, $0.quality) = (.jpeg, 80) }),
    ("q:80/f:auto/", ImgdGatewayTests.cat { ($0.format, $0.quality) = (.auto, 80) }),
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
    for start in ["/", "/insecure/", "/unsafe/", "/_/"] {
      #expect(try picture(start + options + Self.source, presets: [icon]) == request)
    }
  }

  @Test(arguments: [
    ("blur:3/", "blur", "The options are resize|rs, size|s"),
    ("widht:3/", "widht", #"did you mean "width"?"#), (":/", "", "there is no option"),
    ("w:3/w:3/", "width", "set twice"), ("w:0/width:0/", "width", "set twice"),
    ("rs:fit:3/w:3/", "width", "given twice"),
    ("w:3/rs:fit:3/", "resize", #""resize:width" is given twice"#),
    ("cb:a/cb:b/", "cachebuster", "set twice"),
    ("rs:fit:3:2:0:1/", "resize", "resize:type, resize:width"), ("w:3:4/", "width", #""4""#),
    ("g:ce:0:0/", "gravity", #""0:0""#), ("pr:a:b/", "preset", "last argument"),
    ("rs:auto:3/", "resize", #""resize:type" was "auto"; it takes fit, fill or force"#),
    ("rt:contain/", "resizing_type", "fit, fill or force"), ("g:no/", "gravity", "ce, sm or fp:x:y"),
    ("g:fp:2:0/", "gravity", #""gravity" was "fp:2:0"; it takes ce, sm or fp:x:y"#),
    ("g:fp:0.5/", "gravity", #""gravity" was "fp:0.5"; it takes ce, sm or fp:x:y"#),
    ("g:fp:centre/", "gravity", #""gravity" was "fp:centre"; it takes ce, sm or fp:x:y"#),
    ("g:fp:/", "gravity", #""gravity" was "fp:"; it takes ce, sm or fp:x:y"#),
    ("g:fp:0,1:0/", "gravity", #""gravity" was "fp:0,1:0"; it takes ce, sm or fp:x:y"#),
    ("c:3/", "crop", "width:height:nowe:x:y"), ("c:3:4:soea:1:1/", "crop", "nowe"),
    ("c:70000:1/", "crop", #""crop" was "70000:1"; its width takes a whole number of pixels"#),
    ("c:3:4:nowe:x:1/", "crop", #""crop" was "3:4:nowe:x:1"; it takes width:height"#),
    ("c:3,4:5/", "crop", #""crop" was "3,4:5"; it takes width:height"#),
    ("c:/", "crop", #""crop" is empty; it takes width:height"#),
    ("ex:x/", "extend", "1, t"), ("bg:red/", "background", "rrggbb"),
    ("c:1:1/c:1:1/", "crop", "set twice"),
    ("rs:fit:x/", "resize", #""resize:width" was "x""#), ("w:/", "width", #""width" is empty"#),
    ("h:65536/", "height", "65535"), ("el:yes/", "enlarge", "1, t, true, 0, f or false"),
    ("dpr:9/", "dpr", "1.5"), ("q:0/", "quality", "from 1 to 100"), ("f:heic/", "format", "webp"),
    ("exp:x/", "expires", "1970"), ("pr:/", "preset", "is empty"),
    ("pr:x/", "preset", #"preset "x""#),
  ])
  func `wrong options are named`(options: String, field: String, part: String) throws {
    let error = try #require(refusal(of: "/_/" + options + Self.source))
    #expect(error.status == 400 && error.code == "bad_request" && error.field == field)
    #expect(error.message.contains(part), "\(error.message)")
  }

  @Test(arguments: [
    ("/plain", "has no URL"), ("/plain/", "has no URL"), ("/w:3", "has no URL"),
    ("/_/w:3/", "neither"),
    ("/x/w:3/aHR0cHM6Ly9hLmV4YW1wbGU", "not in base64"),
    ("/x/aHR0cHM6Ly9hLmV4YW1wbGU", "not in base64"),
    ("/_/anything", "neither"), ("/_//plain/https://a.example/", "neither"),
    ("/plain/https://a.example/x@bmp", "%40"), ("/plain/https://a.example/x@", "%40"),
    (
      "/f:png/plain/https://a.example/x@webp",
      #""@webp" at the end is a second format, after that of an option; it takes one"#
    ),
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
