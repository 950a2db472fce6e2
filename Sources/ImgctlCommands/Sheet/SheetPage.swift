import ImgdConnection
import ImgdSystem
import ImgdWire

/// A contact sheet as one HTML page, which needs no other file, no network and no script.
struct SheetPage {
  private let socket: String
  private let size: Int

  init(of socket: String, size: Int) {
    self.socket = socket
    self.size = size
  }

  func text(of pictures: [SheetPicture], at seconds: Int64) -> String {
    let title = "Pictures of imgd at \(HTMLText.escaped(printable(socket)))"
    let count = pictures.count == 1 ? "1 picture" : "\(pictures.count) pictures"
    let head = """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="referrer" content="no-referrer">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
      <title>\(title)</title>
      <style>\(style)</style>
      </head>
      <body>
      <h1>\(title)</h1>
      <p>\(count), \(Timestamp.rfc3339(seconds))</p>
      <ul>

      """
    return head + pictures.map(item).joined() + "</ul>\n</body>\n</html>"
  }

  private func item(_ picture: SheetPicture) -> String {
    let url = HTMLText.escaped(printable(picture.url))
    let image =
      "<img src=\"data:\(HTMLText.escaped(picture.type));base64,\(HTMLText.escaped(picture.data))\""
      + " width=\"\(picture.width)\" height=\"\(picture.height)\" alt=\"\">"
    let name = HTMLText.escaped(printable(picture.name))
    let facts = picture.facts.map { "<br>" + HTMLText.escaped($0) }.joined()
    let isLinked = HTMLText.isLinkable(picture.url)
    let link = "<a href=\"\(HTMLText.escaped(picture.url))\" title=\"\(url)\">"
    return """
      <li><figure>\(isLinked ? "\(link)\(image)</a>" : image)
      <figcaption>\(isLinked ? "\(link)\(name)</a>" : name)\(facts)</figcaption></figure></li>

      """
  }

  private var style: String {
    """
    :root{color-scheme:light dark}
    body{font:14px/1.4 system-ui,sans-serif;margin:2rem;color:light-dark(#222,#ddd);background:light-dark(#fff,#181818)}
    h1{font-size:1.3rem;margin:0}
    p{margin:.2rem 0 1.5rem;color:light-dark(#666,#999)}
    ul{display:grid;grid-template-columns:repeat(auto-fill,minmax(\(size + 20)px,1fr));gap:1rem;list-style:none;margin:0;padding:0}
    figure{margin:0;text-align:center}
    img{max-width:100%;height:auto;background:repeating-conic-gradient(light-dark(#ddd,#333) 0 25%,transparent 0 50%) 0/16px 16px}
    figure>a:first-child,figure>img:first-child{display:flex;align-items:end;justify-content:center;min-height:\(size)px}
    figcaption{font-size:12px;margin-top:.4rem;overflow-wrap:anywhere;color:light-dark(#666,#999)}
    a{color:inherit;text-decoration:none}
    figcaption a{color:light-dark(#04c,#8bf)}
    a:hover{text-decoration:underline}
    @media print{body{margin:0;color:#000;background:#fff}li{break-inside:avoid}figcaption,figcaption a,p{color:#333}}
    """
  }
}

/// One picture of a contact sheet: its thumbnail, and the facts of its entry.
struct SheetPicture {
  let url: String
  /// The thumbnail's media type, and its bytes as base64.
  let type: String
  let data: String
  let width: Int
  let height: Int
  /// The format and the dimensions, and the size and the age.
  let facts: [String]

  /// The picture of an entry; nil if the answer has no thumbnail.
  init?(_ entry: Reply, thumbnail: Reply) {
    guard let url = entry.text("url"), let type = thumbnail.text("type"), let data = thumbnail.text("data"),
      let width = thumbnail.number("width"), let height = thumbnail.number("height")
    else { return nil }
    self.url = url
    self.type = type
    self.data = data
    self.width = width
    self.height = height
    facts = [
      printable(entry.display("format")) + " · " + EntryText.dimensions(entry).replacing("x", by: "×"),
      Quantity.size(entry.number("bytes") ?? 0) + " · " + EntryText.value("age", of: entry) + " old",
    ]
  }

  /// The end of the URL's path, by which people recognise a picture; the whole URL where that is empty.
  var name: String {
    let path = url.prefix { $0 != "?" && $0 != "#" }
    let last = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    return last.isEmpty ? url : String(last)
  }
}

extension String {
  fileprivate func replacing(_ letter: Character, by other: Character) -> String {
    String(map { $0 == letter ? other : $0 })
  }
}
