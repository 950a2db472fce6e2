import Testing

@testable import ImgdCache

struct PictureFileTests {
  private let digest = KeyDigest(high: 0xABC0_0000_0000_0001, low: 0x2F)
  private let hex = "abc0000000000001000000000000002f"

  @Test(arguments: [0, 1, 15, 16, 0xABC, 0xFFFF, 0x10000, UInt32.max])
  func `a path leads to where the file is`(number: UInt32) throws {
    for digest in [KeyDigest(high: 0, low: 0), KeyDigest(high: 0x0A << 56, low: .max)] {
      let file = try #require(PictureFile(digest: digest, number: number, suffix: "webp"))
      #expect(file.path(in: "/var/cache/imgd/1") == "/var/cache/imgd/1/" + file.relativePath)
    }
  }

  @Test func `the name of a picture file contains its digest and number`() throws {
    let file = try #require(PictureFile(digest: digest, number: 0x2F, suffix: "jpg"))
    #expect(file.name == hex + "-2f.jpg")
    #expect(file.relativePath == "ab/" + hex + "-2f.jpg")
  }

  @Test(
    arguments: [
      (0x0000_0000_0000_0000, 0x00, "00"), (0x0FF0_0000_0000_0000, 0x0F, "0f"),
      (0xF010_0000_0000_0000, 0xF0, "f0"), (0xFFFF_FFFF_FFFF_FFFF, 0xFF, "ff"),
    ] as [(UInt64, Int, String)])
  func `the first two digits of the digest name the subdirectory`(
    high: UInt64, subdirectory: Int, path: String
  ) throws {
    let file = try picture(high: high)
    #expect(file.subdirectory == subdirectory)
    #expect(file.relativePath == path + "/" + file.name)
  }

  @Test(
    arguments: [0, 1, 15, 16, 0xDEAD_BEEF, .max] as [UInt32],
    ["a", "jpg", "webp", "7z", "abcdefgh"])
  func `a picture file is read back from its name`(number: UInt32, suffix: String) throws {
    let file = try #require(PictureFile(digest: digest, number: number, suffix: suffix))
    #expect(PictureFile(name: file.name) == file)
  }

  @Test(arguments: ["", "JPG", "jp g", "abcdefghi", ".jpg", "jpg/", "../x", "é", "j\0", "j-g"])
  func `an invalid suffix is refused`(suffix: String) {
    #expect(PictureFile(digest: digest, number: 1, suffix: suffix) == nil)
    #expect(PictureFile(name: hex + "-1." + suffix) == nil)
  }

  @Test(arguments: [
    "", ".", "..", "../x", "/etc/passwd", "-", ".-", "-.", "index.db", "lock",
    "HEX-2f.jpg/", "/HEX-2f.jpg", "./HEX-2f.jpg", "HEX-2F.jpg", "HEX-02f.jpg", "HEX-00.jpg",
    "HEX-.jpg", "HEX--1.jpg", "HEX-+1.jpg", "HEX-100000000.jpg", "HEX-0000000000000001.jpg",
    "HEX-ffffffffffffffffff.jpg", "HEX-2f", "HEX-2f.", "HEX-2f.jpg.aside-1", "HEX-2f.jpg~",
    "HEX.2f-jpg", "HEX2f.jpg", "HEX0-2f.jpg", "HEX-2f-1.jpg", " HEX-2f.jpg", "HEX-2f.jpg\n",
    "HEX-2f.jpg\0", "HEX-2f.jpg\u{301}", "HEX\u{301}-2f.jpg", "HEX-2f\u{301}.jpg",
  ])
  func `a name of another form is refused`(pattern: String) {
    let name = pattern.split(separator: "HEX", omittingEmptySubsequences: false)
      .joined(separator: hex)
    #expect(PictureFile(name: name) == nil)
  }

  @Test func `an upper case digest and an endless name are refused`() {
    #expect(PictureFile(name: "ABC0000000000001000000000000002F-2f.jpg") == nil)
    #expect(PictureFile(name: String(repeating: "a", count: 100_000)) == nil)
    #expect(PictureFile(name: hex + "-1." + String(repeating: "j", count: 100_000)) == nil)
  }

  @Test func `a name with a cut or a changed byte is another name or none`() throws {
    let file = try #require(PictureFile(digest: digest, number: 0x2F, suffix: "jpg"))
    let bytes = Array(file.name.utf8)
    for end in bytes.indices {
      let cut = String(decoding: bytes[..<end], as: UTF8.self)
      #expect(PictureFile(name: cut).map { $0.name == cut } ?? true)
      for byte in UInt8.min...UInt8.max {
        var changed = bytes
        changed[end] = byte
        let name = String(decoding: changed, as: UTF8.self)
        #expect(PictureFile(name: name).map { $0.name == name } ?? true)
      }
    }
  }
}
