import ImgdCache
import ImgdDecode
import ImgdPicture
import Testing

@testable import ImgdDaemon

/// What decoders are expected to take.
struct DecodeTimeTests {
  private func facts(
    _ format: PictureFormat, _ width: Int, _ height: Int, frames: Int = 1, orientation: Int = 1
  ) -> ImageFacts {
    ImageFacts(
      format: format.rawValue, width: width, height: height, frames: frames,
      orientation: orientation)
  }

  private func box(
    _ width: Int?, _ height: Int?, _ fit: Rendition.Box.Fit = .contain, enlarges: Bool = false
  ) -> Rendition.Box {
    Rendition.Box(width: width, height: height, fit: fit, enlarges: enlarges)
  }

  @Test func `thumbnails and pixels of ordinary pictures are quick`() {
    for (rendition, facts) in [
      (Rendition(.file(.webp, quality: nil), box: box(320, 240)), facts(.jpeg, 6_000, 4_000)),
      (Rendition(.file(nil, quality: nil), box: box(300, nil)), facts(.png, 2_000, 1_500)),
      (Rendition(.file(.avif, quality: nil), box: box(320, 240)), facts(.jpeg, 2_000, 1_500)),
      (Rendition(.pixels), facts(.jpeg, 6_000, 4_000)),
      (Rendition(.description), facts(.jpeg, 6_000, 4_000)),
    ] { #expect(ServiceTime(making: rendition, of: facts).isQuick) }
  }

  @Test func `what is large before, in between or after is slow`() {
    for (rendition, facts) in [
      // After.
      (
        Rendition(.file(.avif, quality: nil), box: box(9_000, 9_000, enlarges: true)),
        facts(.png, 10, 10)
      ),
      (Rendition(.file(.avif, quality: nil)), facts(.jpeg, 2_000, 1_500)),
      // In between.
      (
        Rendition(.file(.jpeg, quality: nil), box: box(1, 14_000, .cover, enlarges: true)),
        facts(.png, 2, 2)
      ),
      // Before.
      (Rendition(.description), facts(.png, 8_000, 4_000)),
      (
        Rendition(.file(nil, quality: nil), box: box(300, nil)),
        facts(.gif, 1_000, 1_000, frames: 100)
      ),
    ] { #expect(!ServiceTime(making: rendition, of: facts).isQuick) }
  }

  @Test func `of a drawing only the size counts that is drawn`() {
    let icon = Rendition(.file(.png, quality: nil), box: box(64, 64))
    #expect(ServiceTime(making: icon, of: facts(.svg, 60_000, 60_000)).isQuick)
    let poster = Rendition(.file(.png, quality: nil), box: box(9_000, 9_000))
    #expect(!ServiceTime(making: poster, of: facts(.svg, 16, 16)).isQuick)
    #expect(ServiceTime(making: poster, of: facts(.png, 16, 16)).isQuick)
  }

  @Test func `a JPEG is slower with many scans, four colours or in linear light`() {
    let thumbnail = Rendition(.file(.jpeg, quality: nil), box: box(300, nil))
    var linear = box(300, nil)
    linear.isLinear = true
    let large = facts(.jpeg, 7_000, 7_000)
    func time(_ rendition: Rendition, _ coding: JPEGCoding) -> ServiceTime {
      ServiceTime(making: rendition, of: large, coded: coding)
    }
    #expect(time(thumbnail, .baseline).isQuick)
    #expect(!time(thumbnail, JPEGCoding(isProgressive: true, colours: 3)).isQuick)
    #expect(!time(thumbnail, JPEGCoding(isProgressive: false, colours: 4)).isQuick)
    #expect(!time(Rendition(.file(.jpeg, quality: nil), box: linear), .baseline).isQuick)
  }

  @Test func `one frame of an animation costs as much as one picture`() {
    let rendition = Rendition(.file(.png, quality: nil), box: box(100, nil), frames: .first)
    #expect(
      ServiceTime(making: rendition, of: facts(.gif, 500, 500, frames: 900))
        == ServiceTime(making: rendition, of: facts(.gif, 500, 500)))
  }

  @Test func `a turned picture is measured as it is shown`() {
    let rendition = Rendition(.file(.webp, quality: nil), box: box(1_000, 10))
    #expect(
      ServiceTime(making: rendition, of: facts(.jpeg, 10, 1_000, orientation: 6))
        == ServiceTime(making: rendition, of: facts(.jpeg, 1_000, 10)))
  }

  @Test func `no claim of a header is too much to be reckoned with`() {
    let huge = facts(.gif, .max, .max, frames: .max)
    let box = box(65_535, 1, .cover, enlarges: true)
    #expect(
      ServiceTime(making: Rendition(.file(nil, quality: nil), box: box), of: huge)
        == ServiceTime(.seconds(10)))
  }
}
