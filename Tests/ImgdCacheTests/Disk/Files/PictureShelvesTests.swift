import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct PictureShelvesTests {
  private let place: DiskPlace
  private let directory: DiskDirectory
  private let shelves: PictureShelves
  private var shelf: String { place.path + "/1/ab" }
  private var elsewhere: String { place.root + "/elsewhere" }

  init() throws {
    place = try DiskPlace()
    directory = try place.open()
    shelves = PictureShelves(directory.pictures)
  }

  private func store(_ number: UInt32) throws {
    let prepared = try directory.pictures.prepare(Payload([1, 2, 3]))
    try shelves.link(prepared, as: try picture(number))
  }

  @Test func `a subdirectory is looked up once`() throws {
    try store(1)
    rename(shelf, elsewhere)
    try store(2)
    #expect(try names(elsewhere).count == 2)
    try shelves.remove(try picture(2))
    #expect(try names(elsewhere) == [try picture(1).name])
    #expect(access(shelf, F_OK) != 0)
  }

  @Test func `after a disturbance a subdirectory is looked up anew`() throws {
    try store(1)
    rename(shelf, elsewhere)
    directory.pictures.noteDisturbance()
    try store(2)
    #expect(try names(shelf) == [try picture(2).name])
    directory.pictures.noteDisturbance()
    try shelves.remove(try picture(1))
    #expect(try names(elsewhere) == [try picture(1).name])
  }

  @Test func `a subdirectory that was removed is made again`() throws {
    try store(1)
    TemporaryDirectory.remove(shelf)
    try shelves.remove(try picture(1))
    try store(2)
    #expect(try names(shelf) == [try picture(2).name])
  }

  @Test func `subdirectories are opened again after they were let go`() throws {
    try store(1)
    rename(shelf, elsewhere)
    shelves.letGo()
    try store(2)
    #expect(try names(shelf) == [try picture(2).name])
  }

  @Test func `no subdirectory is kept open with one of the last descriptors`() async {
    await #expect(processExitsWith: .success) {
      let place = try DiskPlace()
      let directory = try place.open()
      let shelves = PictureShelves(directory.pictures)
      let before = try names("/proc/self/fd").count
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      limit.rlim_cur = rlim_t(before + 8)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      for number in 0..<64 as Range<UInt64> {
        let prepared = try directory.pictures.prepare(Payload([1]))
        try shelves.link(prepared, as: try picture(1, high: number << 56))
      }
    }
  }
}
