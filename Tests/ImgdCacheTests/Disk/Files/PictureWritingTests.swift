import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct PictureWritingTests {
  private let place: DiskPlace
  private let directory: DiskDirectory
  private let file: PictureFile
  private var layout: String { place.path + "/1" }

  init() throws {
    place = try DiskPlace()
    directory = try place.open()
    file = try picture()
  }

  @Test(arguments: [0, 1, 4_096, Payload.heapLimit, Payload.heapLimit + 1, 3 << 20])
  func `a written picture is read back`(count: Int) throws {
    let bytes = body(count)
    for payload in [Payload(bytes), try Payload(bytes).shareable()] {
      let prepared = try directory.pictures.prepare(payload)
      #expect(prepared.count == count)
      try directory.pictures.link(prepared, as: file)
      #expect(readBytes(directory.path(of: file)) == bytes)
      #expect(directory.outcome(file, count: count) == .bytes(bytes))
      #expect(directory.pictures.check(file, count: count, stamp: 0) == .unknown)
      try directory.pictures.remove(file)
      #expect(directory.outcome(file, count: count) == .missing)
    }
  }

  @Test func `a payload can be written several times`() throws {
    let payload = try Payload(body(100_000)).shareable()
    for number in 1...3 as ClosedRange<UInt32> {
      let prepared = try directory.pictures.prepare(payload)
      try directory.pictures.link(prepared, as: try picture(number))
      #expect(directory.outcome(try picture(number), count: 100_000) == .bytes(body(100_000)))
    }
  }

  @Test(arguments: [0, 1, 100_000])
  func `writing reports the allocated blocks`(count: Int) throws {
    let prepared = try directory.pictures.prepare(Payload(body(count)))
    #expect(prepared.allocated >= count)
    #expect(prepared.allocated < count + 64 * 1024)
    #expect(prepared.allocated % 512 == 0)
  }

  @Test func `a file that was prepared and not linked disappears`() throws {
    do { _ = try directory.pictures.prepare(Payload(body(50_000))) }
    #expect(try names(layout) == [])
  }

  @Test func `writing never replaces a picture`() throws {
    try directory.store([1, 2, 3], as: file)
    let failure = #expect(throws: SystemFailure.self) { try directory.store([4], as: file) }
    #expect(failure?.errno == EEXIST)
    #expect(failure?.description.contains(file.name) == true)
    #expect(directory.outcome(file, count: 3) == .bytes([1, 2, 3]))
  }

  @Test func `a picture is readable for the group under every umask`() async {
    await #expect(processExitsWith: .success) {
      let place = try DiskPlace()
      umask(0o077)
      let directory = try place.open()
      try directory.store([1], as: try picture())
      try #require(try permissions(directory.path(of: try picture())) == 0o640)
      for made in ["", "/1", "/1/ab"] {
        try #require(try permissions(place.path + made) == 0o750)
      }
      umask(0)
      try directory.store([1], as: try picture(2))
      try #require(try permissions(directory.path(of: try picture(2))) == 0o640)
    }
  }

  // MARK: Obstacles

  @Test func `writing follows no link to a subdirectory`() throws {
    let elsewhere = place.root + "/elsewhere"
    _ = mkdir(elsewhere, 0o700)
    _ = symlink(elsewhere, layout + "/ab")
    try directory.store([1, 2], as: file)
    #expect(try files(below: elsewhere) == [])
    #expect(directory.outcome(file, count: 2) == .bytes([1, 2]))
    #expect(try FileStatus.of(path: layout + "/ab.aside-1").kind == .link)
  }

  @Test func `a file in place of a subdirectory is set aside`() throws {
    try write("text", to: layout + "/ab")
    try directory.store([1, 2], as: file)
    #expect(directory.outcome(file, count: 2) == .bytes([1, 2]))
    #expect(read(layout + "/ab.aside-1") == "text")
  }

  @Test func `a link in place of a picture is not written through`() throws {
    try directory.store([1], as: try picture(9))
    let target = place.root + "/target"
    _ = symlink(target, directory.path(of: file))
    let failure = #expect(throws: SystemFailure.self) { try directory.store([4], as: file) }
    #expect(failure?.errno == EEXIST)
    #expect(access(target, F_OK) != 0)
  }

  // MARK: Removing

  @Test func `removing a missing picture is no failure`() throws {
    try directory.pictures.remove(file)
    try directory.store([1], as: file)
    try directory.pictures.remove(file)
    try directory.pictures.remove(file)
    #expect(try files(below: layout) == [])
  }

  @Test func `removing a link leaves its target`() throws {
    try directory.store([1], as: try picture(9))
    try write("text", to: place.root + "/target")
    _ = symlink(place.root + "/target", directory.path(of: file))
    try directory.pictures.remove(file)
    #expect(read(place.root + "/target") == "text")
    #expect(directory.outcome(file, count: 1) == .missing)
  }

  @Test func `removing follows no link to a subdirectory`() throws {
    let elsewhere = place.root + "/elsewhere"
    try directory.store([7], as: file)
    _ = rename(layout + "/ab", elsewhere)
    _ = symlink(elsewhere, layout + "/ab")
    try directory.pictures.remove(file)
    #expect(try files(below: elsewhere).count == 1)
  }

  @Test func `removing sets a directory in place of a picture aside`() throws {
    try directory.store([1], as: try picture(9))
    let path = directory.path(of: file)
    for number in 1...3 {
      _ = mkdir(path, 0o700)
      try write("text", to: path + "/inside")
      try directory.pictures.remove(file)
      #expect(directory.outcome(file, count: 1) == .missing)
      #expect(read(path + ".aside-\(number)/inside") == "text")
    }
    try directory.store([5], as: file)
    #expect(directory.outcome(file, count: 1) == .bytes([5]))
  }

  // MARK: Trouble

  @Test(.enabled(if: geteuid() == 0, "only root can mount a small file system"))
  func `a full file system is a failure that leaves no file`() async {
    await #expect(processExitsWith: .success) {
      let place = try DiskPlace()
      try mountSmall(place.root)
      defer { umount2(place.root, CInt(MNT_DETACH)) }
      let directory = try place.open()
      let before = try directory.pictures.freeSpace().free
      try #require(before < 2 << 20)
      for payload in [Payload(body(2 << 20)), try Payload(body(2 << 20)).shareable()] {
        let failure = #expect(throws: SystemFailure.self) {
          _ = try directory.pictures.prepare(payload)
        }
        try #require(failure.map(StorageTrouble.init) == .full)
        try #require(try directory.pictures.freeSpace().free == before)
      }
      try directory.store(body(100_000), as: try picture())
      try #require(directory.outcome(try picture(), count: 100_000) == .bytes(body(100_000)))
      try #require(directory.pictures.check(try picture(), count: 100_000, stamp: 0) == .unknown)
    }
  }

  @Test(
    arguments: [
      (ENOSPC, .full), (EDQUOT, .full), (EROFS, .readOnly), (EACCES, .readOnly), (EPERM, .readOnly),
      (ENOENT, .gone), (ESTALE, .gone), (ENOTDIR, .gone), (EIO, .broken), (EMFILE, .broken),
      (0, .broken),
    ] as [(CInt, StorageTrouble)])
  func `each kind of failure has a name`(code: CInt, trouble: StorageTrouble) {
    #expect(StorageTrouble(SystemFailure("write", errno: code)) == trouble)
  }
}

/// Mounts a file system of one megabyte that only this thread sees.
private func mountSmall(_ path: String) throws {
  typealias Unshare = @convention(c) (CInt) -> CInt
  let mounts: CInt = 0x20000  // CLONE_NEWNS, which the C library's module leaves out
  let isPrivate = UInt(MS_REC | MS_PRIVATE)
  guard let symbol = dlsym(nil, "unshare"), unsafeBitCast(symbol, to: Unshare.self)(mounts) == 0,
    mount(nil, "/", nil, isPrivate, nil) == 0,
    mount("imgd-test", path, "tmpfs", 0, "size=1m,mode=0700") == 0
  else { throw TestFailure("mount: errno \(errno)") }
}
