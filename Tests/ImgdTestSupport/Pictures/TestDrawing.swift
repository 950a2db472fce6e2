/// Drawings in SVG, as text.
package enum TestDrawing {
  package static let namespace = #"xmlns="http://www.w3.org/2000/svg""#

  /// A document whose root element has these attributes, beside the namespace, and this content.
  package static func svg(_ attributes: String, _ content: String) -> [UInt8] {
    Array("<svg \(namespace) \(attributes)>\(content)</svg>".utf8)
  }

  /// A red disc that fills a square.
  package static let disc = svg(#"viewBox="0 0 16 16""#, #"<circle cx="8" cy="8" r="8" fill="red"/>"#)
}

/// Drawings that are meant to do harm: to open what is on the machine or beyond, or to take all of a decoder's time or
/// memory.
package enum HostileDrawing {
  package static var all: [(name: String, bytes: [UInt8])] {
    references + entities + recursions + floods + numbers + damaged
  }

  /// A rectangle that is drawn whatever else is not.
  private static let mark = ##"<rect width="10" height="10" fill="#00f"/>"##

  private static func drawing(_ content: String, _ size: String = #"width="10" height="10""#) -> [UInt8] {
    TestDrawing.svg(#"xmlns:xlink="http://www.w3.org/1999/xlink" "# + size, mark + content)
  }

  /// Each names something outside of the drawing, which draws nothing; the rest is drawn.
  package static let references: [(name: String, bytes: [UInt8])] = [
    ("a file", #"<image href="file:///etc/passwd" width="10" height="10"/>"#),
    ("a path", #"<image href="/etc/passwd" width="10" height="10"/>"#),
    ("a relative path", #"<image href="../../../../etc/passwd" width="10" height="10"/>"#),
    ("xlink", #"<image xlink:href="file:///etc/hostname" width="10" height="10"/>"#),
    ("http", #"<image href="http://127.0.0.1:1/a.png" width="10" height="10"/>"#),
    ("https", #"<image href="https://127.0.0.1:1/a.svg" width="10" height="10"/>"#),
    ("a descriptor", #"<image href="/proc/self/fd/3" width="10" height="10"/>"#),
    ("memory", #"<image href="/proc/self/mem" width="10" height="10"/>"#),
    ("a device", #"<image href="/dev/zero" width="10" height="10"/>"#),
    ("standard input", #"<image href="-" width="10" height="10"/>"#),
    ("use of a file", #"<use href="file:///usr/share/a.svg#b"/>"#),
    ("use of a host", #"<use href="http://127.0.0.1:1/a.svg#b"/>"#),
    ("import of a style", #"<style>@import url("file:///etc/passwd");</style>"#),
    ("import over http", #"<style>@import "http://127.0.0.1:1/a.css";</style>"#),
    (
      "a font",
      #"<style>@font-face{font-family:f;src:url(file:///etc/passwd)}text{font-family:f}</style><text y="9">a</text>"#
    ),
    ("the machine's fonts", #"<text y="9" font-family="Times, sans-serif">text</text>"#),
    ("a pattern elsewhere", #"<rect width="5" height="5" fill="url(file:///a.svg#p)" fill-opacity="0"/>"#),
    ("a filter elsewhere", ##"<filter id="f"><feImage href="file:///etc/passwd"/></filter><g filter="url(#f)"/>"##),
    ("XInclude", #"<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>"#),
    ("a script", "<script>fetch('http://127.0.0.1:1/')</script>"),
    ("HTML inside", #"<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="file:///"/></foreignObject>"#),
    (
      "a drawing with a file, inside",
      #"<image width="10" height="10" href="data:image/svg+xml;utf8,%3Csvg xmlns='http://www.w3.org/2000/svg'%3E%3Cimage href='file:///etc/passwd'/%3E%3C/svg%3E"/>"#
    ),
    ("no picture inside", #"<image href="data:image/png;base64,AAAA" width="10" height="10"/>"#),
    ("a huge length of data", #"<image href="data:image/png;base64,\#(String(repeating: "A", count: 1 << 20))"/>"#),
  ].map { ($0, drawing($1)) }

  private static func document(_ declarations: String, _ content: String) -> [UInt8] {
    Array("<?xml version=\"1.0\"?><!DOCTYPE svg [\(declarations)]>".utf8) + drawing(content)
  }

  private static let entities: [(name: String, bytes: [UInt8])] = [
    ("an entity of a file", document(#"<!ENTITY x SYSTEM "file:///etc/passwd">"#, "<text>&x;</text>")),
    ("an entity of a host", document(#"<!ENTITY x SYSTEM "http://127.0.0.1:1/">"#, "<text>&x;</text>")),
    ("a public entity", document(#"<!ENTITY x PUBLIC "-//x" "file:///etc/passwd">"#, "<g id=\"a\">&x;</g>")),
    ("a parameter entity", document(#"<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;"#, "")),
    ("a type elsewhere", Array(#"<!DOCTYPE svg SYSTEM "file:///etc/passwd">"#.utf8) + drawing("")),
    ("a type on a host", Array(#"<!DOCTYPE svg PUBLIC "x" "http://127.0.0.1:1/a.dtd">"#.utf8) + drawing("")),
    ("an entity of itself", document(#"<!ENTITY x "&x;">"#, "<text>&x;</text>")),
    ("two entities of each other", document(#"<!ENTITY x "&y;"><!ENTITY y "&x;">"#, "<g id=\"&x;\"/>")),
    ("a billion laughs", document(laughs(levels: 10), "<text>&l9;</text>")),
    ("a billion rectangles", document(laughs(levels: 10, of: "<rect width='1' height='1'/>"), "&l9;")),
    ("a billion laughs in an attribute", document(laughs(levels: 10), #"<rect id="&l9;"/>"#)),
    (
      "one long entity, often",
      document(
        "<!ENTITY x \"\(String(repeating: "x", count: 50_000))\">",
        "<text>\(String(repeating: "&x;", count: 50_000))</text>")
    ),
  ]

  private static func laughs(levels: Int, of word: String = "lol") -> String {
    (0..<levels).map { level in
      let content = level == 0 ? word : String(repeating: "&l\(level - 1);", count: 10)
      return "<!ENTITY l\(level) \"\(content)\">"
    }.joined()
  }

  private static let recursions: [(name: String, bytes: [UInt8])] = [
    ("use of itself", ##"<use id="a" href="#a"/>"##),
    ("use of its group", ##"<g id="a"><use href="#a"/></g>"##),
    ("use of each other", ##"<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>"##),
    ("use that doubles", doubling(30)),
    (
      "a pattern of itself",
      ##"<pattern id="a" width="1" height="1"><rect width="9" height="9" fill="url(#a)"/></pattern><rect width="9" height="9" fill="url(#a)"/>"##
    ),
    (
      "patterns of each other",
      ##"<pattern id="a" href="#b"/><pattern id="b" href="#a"/><rect width="9" height="9" fill="url(#a)"/>"##
    ),
    (
      "gradients of each other",
      ##"<linearGradient id="a" href="#b"/><linearGradient id="b" href="#a"/><rect width="9" height="9" fill="url(#a)"/>"##
    ),
    (
      "a mask of itself",
      ##"<mask id="a"><rect width="9" height="9" mask="url(#a)"/></mask><rect width="9" height="9" mask="url(#a)"/>"##
    ),
    (
      "a clip of itself",
      ##"<clipPath id="a" clip-path="url(#a)"><rect width="9" height="9"/></clipPath><rect width="9" height="9" clip-path="url(#a)"/>"##
    ),
    (
      "a marker of itself",
      ##"<marker id="a"><path d="M0 0L1 1" marker-end="url(#a)"/></marker><path d="M0 0L9 9" marker-end="url(#a)"/>"##
    ),
    (
      "a filter of itself",
      ##"<filter id="a"><feImage href="#b"/></filter><g id="b" filter="url(#a)"><rect width="9" height="9"/></g>"##
    ),
    ("text of itself", ##"<text id="a"><tref href="#a"/><tspan>x</tspan></text>"##),
    ("patterns nested thirty deep", patterns(30)),
    ("filters nested fifty deep", filters(50)),
  ].map { ($0, drawing($1)) }

  private static func doubling(_ levels: Int) -> String {
    #"<g id="u0"><rect width="1" height="1"/></g>"#
      + (1...levels).map { ##"<g id="u\##($0)"><use href="#u\##($0 - 1)"/><use href="#u\##($0 - 1)"/></g>"## }.joined()
  }

  private static func patterns(_ levels: Int) -> String {
    #"<pattern id="p0" width=".1" height=".1"><rect width="9" height="9"/></pattern>"#
      + (1...levels).map {
        ##"<pattern id="p\##($0)" width=".1" height=".1"><rect width="9" height="9" fill="url(#p\##($0 - 1))"/></pattern>"##
      }
      .joined() + ##"<rect width="9" height="9" fill="url(#p\##(levels))"/>"##
  }

  private static func filters(_ levels: Int) -> String {
    ##"<filter id="f"><feGaussianBlur stdDeviation="9"/></filter>"##
      + String(repeating: ##"<g filter="url(#f)">"##, count: levels) + #"<rect width="9" height="9"/>"#
      + String(repeating: "</g>", count: levels)
  }

  private static var floods: [(name: String, bytes: [UInt8])] {
    [
      ("a million elements", String(repeating: "<g/>", count: 1_000_000)),
      ("a million rectangles", String(repeating: #"<rect width="1" height="1"/>"#, count: 1_000_000)),
      (
        "a hundred thousand levels",
        String(repeating: "<g>", count: 100_000) + String(repeating: "</g>", count: 100_000)
      ),
      (
        "a thousand translucent levels",
        String(repeating: #"<g opacity=".9">"#, count: 1_000) + mark + String(repeating: "</g>", count: 1_000)
      ),
      (
        "a path of a million points",
        "<path d=\"M0 0" + String(repeating: "L9 9 1 5", count: 500_000) + "\" stroke=\"red\"/>"
      ),
      ("a million dashes", #"<path d="M0 0H1000000" stroke="red" stroke-dasharray=".001"/>"#),
      ("a hundred thousand attributes", "<g " + (0..<100_000).map { "a\($0)=''" }.joined(separator: " ") + "/>"),
      (
        "a hundred thousand styles",
        "<style>" + String(repeating: "g>g~g rect:first-child{fill:red}", count: 100_000) + "</style><g/><g/>"
      ),
      ("a long text", "<text>" + String(repeating: "x", count: 9 << 20) + "</text>"),
      ("ten megabytes of attribute", "<g id=\"" + String(repeating: "x", count: 11 << 20) + "\"/>"),
      (
        "a great turbulence",
        ##"<filter id="f" x="-9" y="-9" width="99" height="99"><feTurbulence baseFrequency="9" numOctaves="9999999"/></filter><rect width="9" height="9" filter="url(#f)"/>"##
      ),
      (
        "a great matrix",
        ##"<filter id="f"><feConvolveMatrix order="9999" kernelMatrix="1"/></filter><rect width="9" height="9" filter="url(#f)"/>"##
      ),
      (
        "a great dilation",
        ##"<filter id="f"><feMorphology operator="dilate" radius="1000000000"/></filter><rect width="9" height="9" filter="url(#f)"/>"##
      ),
      (
        "a thousand lights",
        ##"<filter id="f">\##(String(repeating: "<feGaussianBlur stdDeviation='99'/>", count: 1_000))</filter><rect width="9" height="9" filter="url(#f)"/>"##
      ),
    ].map { ($0, drawing($1)) }
  }

  private static let numbers: [(name: String, bytes: [UInt8])] = [
    (
      "a blur of a thousand million",
      drawing(
        ##"<filter id="f"><feGaussianBlur stdDeviation="1000000000"/></filter><rect width="9" height="9" filter="url(#f)"/>"##
      )
    ),
    (
      "a filter as large as the sky",
      drawing(
        ##"<filter id="f" filterUnits="userSpaceOnUse" x="-1e9" y="-1e9" width="2e9" height="2e9"><feFlood/></filter><rect width="9" height="9" filter="url(#f)"/>"##
      )
    ),
    ("a size of a thousand million", drawing("", #"width="1000000000" height="1000000000""#)),
    ("a size of nothing", drawing("", #"width="0" height="0""#)),
    ("a size that is no number", drawing("", #"width="NaN" height="Infinity""#)),
    ("a size beyond all numbers", drawing("", #"width="1e999" height="-1e999""#)),
    ("a box of nothing", drawing("", #"viewBox="0 0 0 0""#)),
    ("a box of next to nothing", drawing("", #"viewBox="0 0 1e-300 1e300""#)),
    ("a box far away", drawing("", #"viewBox="1e308 1e308 1 1""#)),
    (
      "a scale beyond all numbers",
      drawing(#"<g transform="scale(1e308) scale(1e308)"><rect width="1" height="1"/></g>"#)
    ),
    (
      "coordinates beyond all numbers",
      drawing(#"<path d="M1e308 1e308L-1e308 NaN 1e999 9" stroke="red" stroke-width="1e308"/>"#)
    ),
    (
      "a pattern of nothing",
      drawing(
        ##"<pattern id="p" width="1e-9" height="1e-9" patternUnits="userSpaceOnUse"><rect width="1" height="1"/></pattern><rect width="9" height="9" fill="url(#p)"/>"##
      )
    ),
    ("a radius beyond all numbers", drawing(#"<circle r="1e300"/><ellipse rx="1e-300" ry="1e300" stroke="red"/>"#)),
    (
      "ten thousand markers",
      drawing(
        ##"<marker id="m" markerWidth="1e9" markerHeight="1e9"><rect width="9" height="9"/></marker><path d="M0 0\##(String(repeating: "l1 0", count: 10_000))" marker-mid="url(#m)"/>"##
      )
    ),
  ]

  private static let damaged: [(name: String, bytes: [UInt8])] = [
    ("only a beginning", Array("<svg \(TestDrawing.namespace)>".utf8)),
    ("a beginning that breaks off", Array("<svg \(TestDrawing.namespace) width=\"9".utf8)),
    ("another end", Array("<svg \(TestDrawing.namespace)><g></svg>".utf8)),
    ("bytes that are no text", Array(drawing("<text>").dropLast(6)) + [0xFF, 0xFE, 0xC0, 0x80, 0xED, 0xA0, 0x80]),
    ("a zero inside", drawing("<g id=\"") + [0] + Array("\"/></svg>".utf8)),
    ("another encoding", Array(#"<?xml version="1.0" encoding="UTF-16"?>"#.utf8) + drawing("")),
    ("an unknown encoding", Array(#"<?xml version="1.0" encoding="no-such"?>"#.utf8) + drawing("")),
    ("a prefix that is nowhere declared", Array("<a:svg width='9' height='9'><a:rect/></a:svg>".utf8)),
    ("another namespace", Array("<svg xmlns='http://www.w3.org/1999/xhtml'/>".utf8)),
    ("two roots", drawing("") + drawing("")),
    ("a file behind it", drawing("") + [UInt8](repeating: 0, count: 100_000)),
  ]
}
