@testable import ImgdPicture

extension FuzzTarget {
  /// Any bytes are a picture with sane numbers, or a reason. libvips is the oracle.
  static let pictures = FuzzTarget(
    "pictures", of: ["ImgdPicture"], longest: 1024, show: showPicture
  ) { bytes in
    do throws(NotAPicture) {
      let picture = try PictureProbe.recognise(bytes.span)
      expect(picture.width > 0 && picture.height > 0, "a picture has both sides")
      expect(picture.width <= Int32.max && picture.height <= Int32.max, "sides fit where they are kept")
      expect((1...PictureProbe.mostSteps).contains(picture.frames), "a picture has a frame, and few")
      expect((1...8).contains(picture.orientation), "an orientation is one of eight")
      expect((try? PictureProbe.recognise(bytes.span)) == picture, "it is the same each time")
    } catch {
      expect(!error.reason.isEmpty && error.reason.utf8.count < 200, "a reason is a phrase")
      expect(!error.reason.utf8.contains { $0 < 0x20 }, "a reason is one line")
    }
  }

  private static func showPicture(_ bytes: [UInt8]) -> String {
    guard let picture = try? PictureProbe.recognise(bytes.span) else { return "no" }
    return "yes \(picture.format.name) \(picture.width) \(picture.height) \(picture.frames) \(picture.orientation)"
  }
}
