import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct SubdirectoryTests {
  private let place: DiskPlace
  private let directory: DiskDirectory
  private var subdirectory: String { place.path + "/1/ab" }

  init() throws {
    place = try DiskPlace()
    directory = try place.open()
  }

  @Test func `each picture is listed in one subdirectory`() throws {
    var stored: Set<PictureFile> = []
    for number in 0..<40 as Range<UInt32> {
      let file = try picture(number, high: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
      try directory.store(body(Int(number)), as: file)
      stored.insert(file)
    }
    var found: Set<PictureFile> = []
    for number in 0..<Subdirectory.count {
      let subdirectory = try directory.pictures.contents(ofSubdirectory: number)
      #expect(subdirectory.foreign == 0)
      for file in subdirectory.pictures { #expect(found.insert(file).inserted) }
    }
    #expect(found == stored)
  }

  @Test func `foreign names are counted and left alone`() throws {
    let file = try picture()
    try directory.store([1, 2, 3], as: file)
    try write("text", to: subdirectory + "/notes.txt")
    try write("text", to: subdirectory + "/" + file.name + "~")
    try write("text", to: subdirectory + "/" + (try picture(high: 0)).name)
    _ = symlink("/etc/passwd", subdirectory + "/" + (try picture(2)).name)
    _ = mkdir(subdirectory + "/" + (try picture(3)).name, 0o700)
    _ = mkfifo(subdirectory + "/" + (try picture(4)).name, 0o600)
    let before = try names(subdirectory)
    let found = try directory.pictures.contents(ofSubdirectory: file.subdirectory)
    #expect(found.pictures == [file])
    #expect(found.foreign == 6)
    #expect(try names(subdirectory) == before)
  }

  @Test func `a name that is not text is foreign`() throws {
    let file = try picture()
    try directory.store([1], as: file)
    let name = (Array(subdirectory.utf8) + [0x2F, 0xFF, 0xFE, 0]).map { CChar(bitPattern: $0) }
    try name.withUnsafeBufferPointer { name in
      let path = try #require(name.baseAddress)
      let made = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      #expect(made >= 0)
      close(made)
      #expect(try directory.pictures.contents(ofSubdirectory: file.subdirectory).foreign == 1)
      unlink(path)
    }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
  func `a file of another user is foreign`() throws {
    let file = try picture()
    try directory.store([1], as: file)
    _ = chown(directory.path(of: file), 65_534, 65_534)
    let found = try directory.pictures.contents(ofSubdirectory: file.subdirectory)
    #expect(found.pictures.isEmpty)
    #expect(found.foreign == 1)
  }

  @Test func `listing follows no link`() throws {
    let file = try picture()
    try directory.store([1], as: file)
    _ = rename(subdirectory, place.root + "/moved")
    _ = symlink(place.root + "/moved", subdirectory)
    #expect(try directory.pictures.contents(ofSubdirectory: file.subdirectory).pictures.isEmpty)
  }

  @Test func `a missing subdirectory is empty`() throws {
    #expect(try directory.pictures.contents(ofSubdirectory: 0).pictures.isEmpty)
    TemporaryDirectory.remove(place.path)
    #expect(
      try directory.pictures.contents(ofSubdirectory: Subdirectory.count - 1).pictures.isEmpty)
  }
}
