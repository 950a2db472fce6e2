import ImgdPicture
import ImgdTestSupport
import Testing

struct SVGTests {
  private func verdict(_ text: String) -> String { ImgdPictureTests.verdict(Array(text.utf8)) }

  @Test(arguments: [
    "<svg>", "<svg/>", "<svg />", "<svg\n>", "  \r\n\t<svg>", "\u{FEFF}<svg>", "<?xml version='1.0'?><svg>",
    "<!-- -- --><svg>", "<!DOCTYPE svg><svg>", "<!DOCTYPE svg [ <!ENTITY a \"]>\"> ]><svg>",
    "<a:svg xmlns:a=''>", "<svg a='>' b=\"/>\">", "<svg a = '1'>", "<svg a='1'b='2'>", "<svg><html>", "<svg width='%'>",
  ])
  func `a drawing is known by its root element`(_ text: String) {
    #expect(verdict(text) == line(.svg, 300, 150))
  }

  @Test(arguments: [
    "<SVG>", "<svgs>", "<svg:g>", "<html><svg>", "svg", "< svg>", "<!svg>", "<?svg ?>", "<!-- <svg> -->", "text <svg>",
    "<!DOCTYPE html><html><svg>", "<!DOCTYPE svg [ <svg>", "<![CDATA[<svg>]]>", "</svg>", "<!-- <svg>", "<?xml <svg>",
  ])
  func `what has another root is none`(_ text: String) { #expect(!verdict(text).contains("svg ")) }

  @Test(arguments: [
    "<svg", "<svg a", "<svg a=", "<svg a='", "<svg a='1'", "<svg a=1>", "<svg /", "<svg <g>>", "<svg '>",
  ])
  func `a root that is not whole is refused`(_ text: String) {
    #expect(verdict(text) == "SVG whose root element is not whole")
  }

  @Test(
    arguments: [
      ("width='30' height='20'", 30, 20), ("width=' 30px ' height='+2e1'", 30, 20),
      ("width='1in' height='72pt'", 96, 96),
      ("width='2.54cm' height='25.4mm'", 96, 96), ("width='101.6Q' height='6pc'", 96, 96),
      ("width='1em' height='1ex'", 16, 8),
      ("width='.4' height='2.5'", 1, 3), ("width='30' height='20' viewBox='0 0 1 1'", 30, 20),
      // From the other side and the proportions.
      ("width='30' viewBox='0 0 3 2'", 30, 20), ("height='20' viewBox='0,0,3,2'", 30, 20),
      ("viewBox=' -5 -5, 30 20 '", 30, 20),
      ("width='100%' height='100%' viewBox='0 0 30 20'", 30, 20), ("width='50%'", 300, 150), ("width='30'", 30, 150),
      ("height='20'", 300, 20), ("width='auto' height='1e'", 300, 150), ("width='-3' height='nan'", 300, 150),
      ("width='1 2' height='0x10'", 300, 150), ("width='&w;' height='infinity'", 300, 150),
      ("viewBox='0 0 0 9'", 300, 150),
      ("viewBox='0 0 9'", 300, 150), ("viewBox='0 0 9 9 9'", 300, 150), ("viewBox='0 0 9px 9'", 300, 150),
      ("VIEWBOX='0 0 9 9' Width='3'", 300, 150), ("width='3' width='4' height='5'", 3, 5),
      ("a:width='3' height='5'", 300, 5), ("width='2147483647' height='1'", 2_147_483_647, 1),
    ] as [(String, Int, Int)])
  func `its size is what its root says`(_ attributes: String, _ width: Int, _ height: Int) {
    #expect(verdict("<svg \(attributes)>") == line(.svg, width, height))
    #expect(verdict("<svg \(attributes)/>") == line(.svg, width, height))
  }

  @Test(arguments: [
    ("width='0'", "width is 0"), ("height='0px'", "height is 0"), ("width='2147483648'", "width is 2147483648"),
    ("width='1e300' viewBox='0 0 1 1'", "width is 2147483648"),
    ("width='1e300' viewBox='0 0 1e-300 1e300'", "width is 2147483648"),
    ("width='0' viewBox='0 0 1e-300 1e300'", "width is 0"),
  ])
  func `a size that no picture has is refused`(_ attributes: String, _ reason: String) {
    #expect(verdict("<svg \(attributes)>").hasSuffix(reason))
  }

  @Test func `what stands before the end of the root is limited`() {
    let most = 64 << 10
    func filled(_ count: Int) -> String { "<svg a='" + String(repeating: "x", count: count - 10) + "'>" }
    #expect(verdict(filled(most)) == line(.svg, 300, 150))
    #expect(verdict(filled(most + 1)) == "SVG whose root element does not end within 65536 bytes")
    #expect(verdict("<!--" + String(repeating: "-", count: most) + "--><svg>") == "XML")
    for start in ["<!--", "<?", "<!DOCTYPE ", "<!DOCTYPE [", "<!DOCTYPE '", "<svg '", "<svg a='", "<", " "] {
      for filler in ["<", ">", "-", "'", "\"", "a=''", "<!--", "<?", "[", "]", ":", " "] {
        #expect(!verdict(start + String(repeating: filler, count: 500_000 / filler.utf8.count)).isEmpty)
      }
    }
  }

  @Test func `other encodings and compressed drawings are not known`() {
    let wide = Array("<svg>".utf8).flatMap { (letter: UInt8) -> [UInt8] in [letter, 0] }
    #expect(!ImgdPictureTests.verdict([0xFF, 0xFE] + wide).contains("svg"))
    #expect(ImgdPictureTests.verdict([0x1F, 0x8B, 8, 0, 0]) == "gzip data")
  }
}
