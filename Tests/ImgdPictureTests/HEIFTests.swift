import ImgdPicture
import ImgdTestSupport
import Testing

struct HEIFTests {
  @Test(
    arguments: [
      ([], 1), ([.mirror(1)], 2), ([.rotate(2)], 3), ([.mirror(0)], 4),
      ([.rotate(1), .mirror(0)], 5), ([.rotate(3)], 6), ([.rotate(3), .mirror(0)], 7),
      ([.rotate(1)], 8),
      // Two combinations of real encoders, which a decoder reads as 7.
      ([.rotate(1), .mirror(1)], 7), ([.mirror(0), .rotate(1)], 7),
      ([.mirror(0), .mirror(1)], 3), ([.rotate(1), .rotate(3)], 1),
      ([.mirror(1), .rotate(1), .mirror(1)], 6),
    ] as [([TestPicture.Property], Int)])
  func `turns and mirrors combine to EXIF's orientation`(
    _ changes: [TestPicture.Property], _ orientation: Int
  ) {
    #expect(
      verdict(TestPicture.avif(width: 9, height: 8, changes: changes))
        == line(.avif, 9, 8, orientation: orientation))
  }

  @Test func `the padding of an encoder is not counted`() {
    let heic = TestPicture.heic(
      width: 124, height: 78, changes: [.crop(123, 77), .rotate(1)])
    #expect(verdict(heic) == line(.heic, 123, 77, orientation: 8))
    #expect(
      verdict(TestPicture.heic(width: 5, height: 6, changes: [.crop(999, 4)])) == line(.heic, 5, 4))
  }

  @Test(arguments: [
    (["mif1", "heic"], "av01", "avif"), (["mif1", "avif"], "hvc1", "heic"),
    (["mif1"], "hev1", "heic"), (["mif1"], "av01", "avif"), (["avif"], "grid", "avif"),
    (["mif1", "miaf", "heix"], "grid", "heic"), (["heic", "avif"], "grid", "heic"),
    (["MiHB", "mif1"], "av01", "avif"),
  ])
  func `the codec of the primary item decides, then the brands`(
    _ brands: [String], _ codec: String, _ format: String
  ) {
    let heif = TestPicture.heif(brands: brands, codec: codec, width: 70, height: 50)
    #expect(verdict(heif) == "\(format) 70x50 frames 1 orientation 1")
  }

  @Test func `a picture of another codec is refused`() {
    let heif = TestPicture.heif(brands: ["mif1"], codec: "jpeg", width: 70, height: 50)
    #expect(verdict(heif) == "HEIF coded as neither AV1 nor HEVC")
  }

  @Test func `a track counts where the major brand is a sequence's`() {
    let sequence = TestPicture.avif(width: 9, height: 8, frames: 5)
    let still = TestPicture.avif(width: 9, height: 8, frames: 5, brand: "avif")
    #expect(verdict(sequence) == line(.avif, 9, 8, frames: 5))
    #expect(verdict(still) == line(.avif, 9, 8))
  }

  @Test func `a sequence without a cover has the size of its track`() throws {
    let sequence = TestPicture.avif(width: 90, height: 80, frames: 5)
    let name = Array("meta".utf8)
    let place = try #require(sequence.indices.first { sequence[$0...].starts(with: name) })
    var bare = sequence
    bare[place] = 0x78
    #expect(verdict(bare) == line(.avif, 90, 80, frames: 5))
  }

  @Test func `a container without a size is refused`() {
    let type = TestPicture.fileType(["avif"])
    let reason = "HEIF that states no size for its primary item"
    #expect(verdict(type) == reason)
    #expect(verdict(type + TestPicture.fullBox("meta", [])) == reason)
    #expect(
      verdict(type + TestPicture.fullBox("meta", TestPicture.fullBox("pitm", [0, 1]))) == reason)
  }

  @Test func `wide numbers of items and properties are read`() {
    let size = TestPicture.fullBox("ispe", [0, 0, 0, 9, 0, 0, 0, 8])
    let container = TestPicture.box("ipco", [UInt8]([0, 0, 0, 8]) + Array("free".utf8) + size)
    var ties = TestPicture.fullBox("ipma", version: 1, [0, 0, 0, 1, 0, 1, 0, 0, 1, 0x80, 2])
    ties[11] = 1
    let entry = TestPicture.fullBox(
      "infe", version: 3, [0, 1, 0, 0, 0, 0] + Array("av01".utf8) + [0])
    let meta =
      TestPicture.fullBox("pitm", version: 1, [0, 1, 0, 0])
      + TestPicture.fullBox("iinf", version: 1, [0, 0, 0, 1] + entry)
      + TestPicture.box("iprp", container + ties)
    let heif = TestPicture.fileType(["mif1"]) + TestPicture.fullBox("meta", meta)
    #expect(verdict(heif) == line(.avif, 9, 8))
  }

  @Test func `sizes of 64 bits, and sizes up to the end, are read`() {
    let avif = TestPicture.avif(width: 9, height: 8)
    let type = avif.prefix(Int(avif[3]))
    let rest = avif.dropFirst(type.count)
    let wide = [UInt8]([0, 0, 0, 1]) + Array("free".utf8) + [0, 0, 0, 0, 0, 0, 0, 18, 1, 2]
    #expect(verdict(type + wide + rest) == line(.avif, 9, 8))
    var open = avif
    open.replaceSubrange(type.count..<(type.count + 4), with: [0, 0, 0, 0])
    #expect(verdict(open) == line(.avif, 9, 8))
  }
}
