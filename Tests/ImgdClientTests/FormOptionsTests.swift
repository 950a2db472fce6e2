import ImgdWire
import Testing

@testable import ImgdClient

/// The forms that a program can ask for, as the daemon is asked for them.
struct FormOptionsTests {
  private func line(_ options: FetchOptions) -> String {
    String(decoding: Request.fetch(options.request(for: "u")).line(), as: UTF8.self)
  }

  @Test func `cuts, lists and layouts are in the request`() throws {
    var options = FetchOptions(
      delivery: .pixels,
      resize: Resize(
        width: 9, height: 8, fit: .cover, crop: .point(x: 0.4, y: 1),
        area: .fractions(x: 0, y: 0.25, width: 1, height: 0.5), background: Colour("#ff800080")))
    options.formats = [.avif, .webp]
    options.frames = .all
    options.layout = .bgra8Premultiplied
    #expect(
      line(options)
        == ##"{"cmd":"fetch","url":"u","deliver":"pixels","resize":{"area":{"x":0.0,"y":0.25,"width":1.0,"height":0.5},"width":9,"height":8,"fit":"cover","crop":{"x":0.4,"y":1.0},"background":"#ff800080"},"format":["avif","webp"],"frames":"all","layout":"bgra8-premultiplied"}"##
    )
    let part = Resize(area: .pixels(x: 1, y: 2, width: 3, height: 4))
    #expect(
      line(FetchOptions(resize: part))
        == #"{"cmd":"fetch","url":"u","resize":{"area":{"x":1,"y":2,"width":3,"height":4}}}"#)
  }

  @Test func `what makes no sense is left to the daemon to refuse`() {
    let wrong = Resize(width: 1, height: 1, fit: .cover, crop: .point(x: .nan, y: 1e300))
    #expect(line(FetchOptions(resize: wrong)).contains(#""crop":{"x":-0.000001,"y":9.0}"#))
  }

  @Test func `one format is the first of the list`() {
    var options = FetchOptions()
    #expect(options.format == .original)
    options.format = .webp
    #expect(options.formats == [.webp])
    options.formats = []
    #expect(options.format == .original && line(options) == #"{"cmd":"fetch","url":"u"}"#)
  }
}
