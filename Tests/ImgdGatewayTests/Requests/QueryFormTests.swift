import ImgdWire
import Testing

@testable import ImgdGateway

struct QueryFormTests {
  private static let cat = "/fetch?url=https%3A%2F%2Fpictures.example%2Fcat.jpg"

  @Test(arguments: [
    ("", ImgdGatewayTests.cat()),
    ("&width=300", ImgdGatewayTests.cat { $0.width = 300 }),
    ("&height=65535", ImgdGatewayTests.cat { $0.height = 65_535 }),
    (
      "&width=300&height=200&fit=cover",
      ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (300, 200, .cover) }
    ),
    (
      "&width=300&height=200&fit=cover&crop=attention",
      ImgdGatewayTests.cat {
        ($0.width, $0.height, $0.fit, $0.crop) = (300, 200, .cover, .attention)
      }
    ),
    (
      "&width=300&height=200&fit=fill",
      ImgdGatewayTests.cat { ($0.width, $0.height, $0.fit) = (300, 200, .fill) }
    ),
    ("&width=3&enlarge=true", ImgdGatewayTests.cat { ($0.width, $0.enlarge) = (3, true) }),
    ("&width=3&enlarge=false&fit=contain", ImgdGatewayTests.cat { $0.width = 3 }),
    (
      "&width=3&height=2&fit=cover&crop=0.4,0.3",
      ImgdGatewayTests.cat {
        ($0.width, $0.height, $0.fit, $0.crop) = (3, 2, .cover, point(0.4, 0.3))
      }
    ),
    (
      "&area=10,20,30,40",
      ImgdGatewayTests.cat { $0.area = .pixels(x: 10, y: 20, width: 30, height: 40) }
    ),
    (
      "&area=0.1,0,0.5,1&width=9&background=ff8000",
      ImgdGatewayTests.cat {
        $0.width = 9
        $0.area = .fractions(
          x: Fraction(0.1), y: Fraction(0), width: Fraction(0.5), height: Fraction(1))
        $0.background = PictureForm.Background(red: 255, green: 128, blue: 0)
      }
    ),
    (
      "&width=3&height=2&fit=pad&background=%23ff800080",
      ImgdGatewayTests.cat {
        ($0.width, $0.height, $0.fit) = (3, 2, .pad)
        $0.background = PictureForm.Background(red: 255, green: 128, blue: 0, alpha: 128)
      }
    ),
    ("&format=auto", ImgdGatewayTests.cat { $0.format = .auto }),
    ("&format=jpg", ImgdGatewayTests.cat { $0.format = .jpeg }),
    ("&format=jxl", ImgdGatewayTests.cat { $0.format = .named(.jxl) }),
    ("&max_bytes=9000", ImgdGatewayTests.cat { $0.mostBytes = 9_000 }),
    ("&format=avif&quality=1", ImgdGatewayTests.cat { ($0.format, $0.quality) = (.avif, 1) }),
    ("&width=100&dpr=1.5", ImgdGatewayTests.cat { $0.width = 150 }),
    ("&width=101&height=3&dpr=1.5", ImgdGatewayTests.cat { ($0.width, $0.height) = (152, 5) }),
    ("&width=100&dpr=1.100000023841858", ImgdGatewayTests.cat { $0.width = 110 }),
    ("&dpr=2", ImgdGatewayTests.cat()),
    // What has no effect is no other picture.
    ("&crop=attention&enlarge=true", ImgdGatewayTests.cat()),
    ("&%77idth=30%30", ImgdGatewayTests.cat { $0.width = 300 }),
  ])
  func `parameters are read`(parameters: String, request: PictureRequest) throws {
    #expect(try picture(Self.cat + parameters) == request)
  }

  @Test(arguments: [
    ("&width=0", "width", #""width" was "0"; it takes a whole number of pixels from 1 to 65535"#),
    ("&width=65536", "width", #""65536""#), ("&width=+1", "width", "whole number"),
    ("&width=99999999999999999999", "width", "whole number"), ("&width=-1", "width", #""-1""#),
    ("&width=", "width", #""width" is empty"#), ("&width", "width", "is empty"),
    ("&width=1&width=1", "width", "given twice"),
    ("&height=1e3", "height", #""1e3""#),
    ("&fit=covr", "fit", #"did you mean "cover"?"#),
    ("&fit=sideways", "fit", "contain, cover, fill, pad, cover-alike or cover-down"),
    ("&fit=cover", "fit", "both a width and a height"),
    ("&fit=fill&width=3", "fit", "both a width and a height"),
    ("&crop=center", "crop", #"did you mean "centre"?"#), ("&crop=top", "crop", "attention"),
    ("&crop=0.4", "crop", "such as 0.4,0.3"), ("&crop=0.4,1.3", "crop", "such as 0.4,0.3"),
    ("&area=1,2,3", "area", "such as 10,20,300,200"), ("&area=0.5,0,0.6,1", "area", "its width takes"),
    ("&background=red", "background", "rrggbb"), ("&fit=pad&width=3", "fit", "both a width"),
    ("&enlarge=yes", "enlarge", "true or false"), ("&enlarge=1", "enlarge", "true or false"),
    ("&format=bmp", "format", "original, jpeg, png, webp, avif, gif, tiff, jxl or auto"),
    ("&format=wepb", "format", #"did you mean "webp"?"#),
    ("&max_bytes=0", "max_bytes", "number of bytes"), ("&quality=0", "quality", "from 1 to 100"),
    ("&quality=101", "quality", #""101""#),
    ("&dpr=0.5", "dpr", "from 1 to 8"), ("&dpr=8.1", "dpr", #""8.1""#), ("&dpr=nan", "dpr", "1.5"),
    ("&dpr=1e0", "dpr", #""1e0""#), ("&dpr=", "dpr", "is empty"), ("&dpr=1.5.1", "dpr", "1.5"),
    ("&width=60000&dpr=2", "dpr", "120000"), ("&height=60000&dpr=2", "dpr", #""height" times"#),
    ("&preset=", "preset", "is empty"), ("&preset=thumb", "preset", #"no preset "thumb""#),
    ("&expires=soon", "expires", #""soon""#), ("&expires=-1", "expires", "seconds since 1970"),
    ("&signature=", "signature", "is empty"),
    ("&signature=x&width=1", "signature", "not the last"),
    ("&widht=1", "widht", #"did you mean "width"?"#), ("&zoom=1", "zoom", "it has url, width"),
    ("&", "", "no parameter"), ("&&width=1", "", "no parameter"),
  ])
  func `wrong parameters are named`(parameters: String, field: String, part: String) throws {
    let error = try #require(refusal(of: Self.cat + parameters))
    #expect(error.status == 400 && error.code == "bad_request" && error.field == field)
    #expect(error.message.contains(part), "\(error.message)")
  }

  @Test(arguments: ["/fetch", "/fetch?", "/fetch?width=1", "/fetch?signature=x"])
  func `a picture has a URL`(target: String) {
    #expect(refusal(of: target)?.field == "url")
    #expect(refusal(of: target)?.message.contains("missing") == true)
  }

  @Test(arguments: ["%", "%2", "%zz", "%00", "%ff", "%c3", "%ED%A0%80"])
  func `escapes that are no text are refused`(escape: String) {
    #expect(refusal(of: Self.cat + escape)?.code == "bad_request")
    #expect(refusal(of: Self.cat + "&wi" + escape + "=1")?.code == "bad_request")
  }

  @Test(arguments: [
    ("https://a.example/x+y", "https://a.example/x%20y"),
    ("https://a.example/x%2By", "https://a.example/x+y"),
    ("https://a.example/x%20y%22", "https://a.example/x%20y%22"),
    ("https://a.example/x%2520y", "https://a.example/x%20y"),
    ("https://a.example/%C3%A9", "https://a.example/%C3%A9"),
    ("https://a.example/?a=b%26c=d", "https://a.example/?a=b&c=d"),
    ("https://a.example/100%25", "https://a.example/100%25"),
  ])
  func `the URL is unescaped once`(value: String, url: String) throws {
    #expect(try picture("/fetch?url=" + value)?.url == url)
  }

  @Test(arguments: [
    "", "/", "/health", "/fetch/", "/fetchx?url=x", "/thumbnail?url=plain/x", "fetch?url=x", "?",
    "*",
    "//plain/https://a.example", "/favicon.ico", "/a/b/c", "/search?q=a:b",
    "http://a.example/fetch",
  ])
  func `other targets are none of pictures`(target: String) throws {
    #expect(try PictureTarget.parse(target) == nil)
  }
}
