import Testing

@testable import ImgctlCommands

struct PictureNameTests {
  @Test(arguments: [
    ("http://h/a.jpg", "a"), ("http://h/b/c/a.JPEG", "a"), ("http://h/a.jpg?x=/y.png#z", "a"),
    ("http://h/a.jpg#/b?c", "a"), ("http://h/image.php", "image.php"), ("http://h/v1.2", "v1.2"),
    ("http://h/a%20b.png", "a_b"), ("http://h/K%C3%A4se.webp", "Käse"), ("http://h/日本.gif", "日本"),
    ("http://h/a+b=c,d~@e_f-g.tiff", "a+b=c,d~@e_f-g"), ("http://h/a.jpg.png", "a.jpg"),
    ("http://h/.jpg", "_jpg"), ("a.jpg", "a.jpg"), ("h/a.jpg", "a"),
  ])
  func `the last part of the URL names the picture`(url: String, stem: String) {
    #expect(PictureName.stem(of: url) == stem)
  }

  @Test(arguments: [
    ("http://h", "h"), ("http://h/", "h"), ("http://h/a/", "h"), ("http://h?x=1", "h"),
    ("http://h:8080/", "h_8080"), ("http://[::1]/", "___1_"), ("", "picture"),
    ("http://", "picture"),
    ("http:///", "picture"), ("/", "picture"), ("?", "picture"),
  ])
  func `a picture without a path is named after its host`(url: String, stem: String) {
    #expect(PictureName.stem(of: url) == stem)
  }

  @Test(arguments: [
    ("http://h/..", "_."), ("http://h/.", "_"), ("http://h/%2e%2e", "_."),
    ("http://h/%2e%2e%2fetc%2fpasswd", "_._etc_passwd"), ("http://h/a%2Fb", "a_b"),
    ("http://h/..%5c..%5cx", "_._.._x"), ("http://h/a%00.jpg", "a_"), ("http://h/%0a%0d", "__"),
    ("http://h/-rf", "_rf"), ("http://h/%2drf.png", "_rf"), ("http://h/.bashrc", "_bashrc"),
    ("http://h/~root", "~root"), ("http://h/a%252Fb", "a_2Fb"), ("http://h/%", "_"),
    ("http://h/%4", "_4"), ("http://h/%+1", "_+1"), ("http://h/%zz", "_zz"),
    ("http://h/%ff%fe.jpg", "__"), ("http://h/\u{202E}gpj.exe", "_gpj.exe"),
    ("http://h/a;b|c&d$e`f", "a_b_c_d_e_f"), ("http://h/<'\">*", "_____"),
  ])
  func `characters with a special meaning are replaced`(url: String, stem: String) {
    #expect(PictureName.stem(of: url) == stem)
  }

  @Test(arguments: ["a", "ä", "日", "%20", "%C3%A4", ".", "-"])
  func `names are shortened`(part: String) {
    let stem = PictureName.stem(of: "http://h/" + String(repeating: part, count: 5000) + ".jpg")
    #expect(stem.utf8.count <= 180)
    #expect(stem.utf8.count > 170)
  }

  @Test func `every byte gives a safe name`() {
    let digits = Array("0123456789abcdef")
    for byte in 0...255 {
      let url = "http://h/%\(digits[byte >> 4])\(digits[byte & 15])"
      expectHarmless(PictureName.stem(of: url))
    }
  }

  @Test func `a URL cut anywhere gives a safe name`() {
    let url = Array("https://u@h:1/%2e%2e/ä%C3%A4/..%2f%zz.jpg?q=%2f#..".utf8)
    for length in 0...url.count {
      expectHarmless(PictureName.stem(of: String(decoding: url.prefix(length), as: UTF8.self)))
    }
  }

  private func expectHarmless(_ stem: String) {
    #expect(!stem.isEmpty && !stem.hasPrefix(".") && !stem.hasPrefix("-"), "\(stem)")
    #expect(stem.utf8.allSatisfy { $0 > 0x20 && $0 != 0x2F && $0 != 0x7F }, "\(stem)")
  }

  @Test func `equal names are numbered`() {
    let urls = ["http://h/a.jpg", "http://g/a.png", "http://h/a-2.gif", "http://h/a", "http://h/b"]
    var names = PictureNames()
    #expect(urls.map { names.name(for: $0) } == ["a", "a-2", "a-2-2", "a-3", "b"])
    var more = PictureNames()
    let many = (0..<2000).map { _ in more.name(for: "http://h/a.jpg") }
    #expect(Set(many).count == 2000)
    #expect(many.last == "a-2000")
  }

  @Test(arguments: [
    ("jpeg", "jpg"), ("png", "png"), ("jxl", "jxl"), ("", "img"), ("../x", "img"), ("exe", "img"),
  ])
  func `the format decides the extension`(format: String, pathExtension: String) {
    #expect(PictureName.pathExtension(format: format) == pathExtension)
  }
}
