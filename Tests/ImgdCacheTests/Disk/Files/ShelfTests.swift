import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

@Suite struct ShelfTests {
  private let place: DiskPlace
  private let directory: DiskDirectory
  private var shelf: String { place.path + "/1/a/bc" }

  init() throws {
    place = try DiskPlace()
    directory = try place.open()
  }

  @Test func everyPictureIsOnOneShelf() throws {
    var stored: Set<PictureFile> = []
    for number in 0..<40 as Range<UInt32> {
      let file = try picture(number, high: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
      try directory.store(body(Int(number)), as: file)
      stored.insert(file)
    }
    var found: Set<PictureFile> = []
    for number in 0..<Shelf.all {
      let shelf = try directory.files(onShelf: number)
      #expect(shelf.foreign == 0)
      for (file, count) in shelf.pictures {
        #expect(found.insert(file).inserted)
        #expect(count == Int(file.number))
      }
    }
    #expect(found == stored)
  }

  @Test func whatIsForeignIsCountedAndLeftAlone() throws {
    let file = try picture()
    try directory.store([1, 2, 3], as: file)
    try write("text", to: shelf + "/notes.txt")
    try write("text", to: shelf + "/" + file.name + "~")
    try write("text", to: shelf + "/" + (try picture(high: 0)).name)
    _ = symlink("/etc/passwd", shelf + "/" + (try picture(2)).name)
    _ = mkdir(shelf + "/" + (try picture(3)).name, 0o700)
    _ = mkfifo(shelf + "/" + (try picture(4)).name, 0o600)
    let before = try names(shelf)
    let found = try directory.files(onShelf: file.shelf)
    #expect(found.pictures.map(\.file) == [file])
    #expect(found.pictures.map(\.count) == [3])
    #expect(found.foreign == 6)
    #expect(try names(shelf) == before)
  }

  @Test func aNameThatIsNoTextIsForeign() throws {
    let file = try picture()
    try directory.store([1], as: file)
    let name = (Array(shelf.utf8) + [0x2F, 0xFF, 0xFE, 0]).map { CChar(bitPattern: $0) }
    try name.withUnsafeBufferPointer { name in
      let path = try #require(name.baseAddress)
      let made = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      #expect(made >= 0)
      close(made)
      #expect(try directory.files(onShelf: file.shelf).foreign == 1)
      unlink(path)
    }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
  func anotherUsersFileIsForeign() throws {
    let file = try picture()
    try directory.store([1], as: file)
    _ = chown(directory.path(of: file), 65_534, 65_534)
    let found = try directory.files(onShelf: file.shelf)
    #expect(found.pictures.isEmpty)
    #expect(found.foreign == 1)
  }

  @Test func neverLooksThroughALink() throws {
    let file = try picture()
    try directory.store([1], as: file)
    _ = rename(shelf, place.root + "/moved")
    _ = symlink(place.root + "/moved", shelf)
    #expect(try directory.files(onShelf: file.shelf).pictures.isEmpty)
  }

  @Test func aShelfThatIsMissingIsEmpty() throws {
    #expect(try directory.files(onShelf: 0).pictures.isEmpty)
    TemporaryDirectory.remove(place.path)
    #expect(try directory.files(onShelf: Shelf.all - 1).pictures.isEmpty)
  }
}
