import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct PictureReadingTests {
  private let place: DiskPlace
  private let directory: DiskDirectory
  private let file: PictureFile
  private let path: String

  init() throws {
    place = try DiskPlace()
    directory = try place.open()
    file = try picture()
    path = directory.path(of: file)
    try directory.store(body(100), as: file)
  }

  /// Expects that every way to read the picture finds it damaged, for a reason like this.
  private func expectDamage(_ reason: String, count: Int = 100) {
    for waits in [true, false] {
      guard case .damaged(let text) = directory.outcome(file, count: count, allowsWaiting: waits)
      else {
        Issue.record("it was opened, or missing")
        return
      }
      #expect(text.contains(reason))
    }
    #expect(directory.pictures.check(file, count: count, stamp: 0) == .damaged)
  }

  @Test func `a picture that the kernel has cached is opened without waiting`() {
    #expect(directory.outcome(file, count: 100, allowsWaiting: false) == .bytes(body(100)))
    #expect(directory.pictures.check(file, count: 100, stamp: 0) == .unknown)
  }

  @Test(arguments: ["written to", "replaced", "given another time", "linked"])
  func `a picture is known no more when it was changed`(how: String) throws {
    let stamp = try FileStatus.of(path: path).stamp
    #expect(directory.pictures.check(file, count: 100, stamp: stamp) == .sound)
    try elapse()
    switch how {
    case "written to": try CacheFiles.overwrite(path, body(100).reversed())
    case "replaced":
      try write("other", to: path + ".new")
      #expect(truncate(path + ".new", 100) == 0 && chmod(path + ".new", 0o640) == 0)
      #expect(rename(path + ".new", path) == 0)
    case "linked": #expect(link(path, path + ".more") == 0)
    default: #expect(utimensat(AT_FDCWD, path, [timespec(), timespec()], 0) == 0)
    }
    #expect(directory.pictures.check(file, count: 100, stamp: stamp) == .unknown)
  }

  /// Until the clock that the kernel has for files has gone on, as another one shows.
  private func elapse() throws {
    let other = path + ".clock"
    try write("", to: other)
    let before = try FileStatus.of(path: other).stamp
    while try FileStatus.of(path: other).stamp == before { chmod(other, 0o640) }
  }

  @Test func `a missing picture is a miss`() throws {
    for other in [try picture(2), try picture(high: 0), try picture(high: 0xABD0 << 48)] {
      #expect(directory.outcome(other, count: 100) == .missing)
      #expect(
        [.missing, .wouldWait].contains(directory.pictures.check(other, count: 100, stamp: 0)))
    }
    TemporaryDirectory.remove(place.path)
    #expect(directory.outcome(file, count: 100) == .missing)
  }

  @Test(arguments: [0, 99, 101, 1 << 40, .max, -1])
  func `a file of another length is damaged`(count: Int) {
    expectDamage("it has 100 bytes instead of \(count)", count: count)
  }

  @Test(arguments: [0, 50, 101])
  func `a file that was cut or has grown is damaged`(length: Int) {
    _ = truncate(path, length)
    expectDamage("it has \(length) bytes instead of 100")
  }

  @Test func `a link in place of the picture counts as damage`() {
    _ = rename(path, place.root + "/moved")
    _ = symlink(place.root + "/moved", path)
    expectDamage("symbolic link")
  }

  @Test func `a link in place of the subdirectory counts as damage`() {
    let subdirectory = place.path + "/1/ab"
    _ = rename(subdirectory, place.root + "/moved")
    _ = symlink(place.root + "/moved", subdirectory)
    expectDamage("symbolic link")
  }

  @Test func `a file in place of the subdirectory counts as damage`() throws {
    TemporaryDirectory.remove(place.path + "/1/ab")
    try write("text", to: place.path + "/1/ab")
    let damage = Outcome.damaged("there is something else on the way to it")
    #expect(directory.outcome(file, count: 100) == damage)
    #expect(
      [damage, .wouldWait].contains(directory.outcome(file, count: 100, allowsWaiting: false)))
    #expect([.damaged, .wouldWait].contains(directory.pictures.check(file, count: 100, stamp: 0)))
  }

  @Test func `a picture that is not a regular file is damaged and not waited for`() {
    _ = unlink(path)
    _ = mkfifo(path, 0o600)
    expectDamage("not a regular file")
    _ = unlink(path)
    _ = mkdir(path, 0o700)
    expectDamage("not a regular file")
  }

  @Test(arguments: [0o660, 0o642, 0o666] as [mode_t])
  func `a picture that other users may write to is damaged`(mode: mode_t) {
    _ = chmod(path, mode)
    expectDamage("others may write")
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
  func `a picture of another user is damaged`() {
    _ = chown(path, 65_534, 65_534)
    expectDamage("belongs to user 65534")
  }

  @Test(arguments: [0, 1, Payload.heapLimit, Payload.heapLimit + 1, 100_000])
  func `a file of another length is not read`(count: Int) throws {
    let file = try picture(2)
    try directory.store(body(count), as: file)
    let descriptor = FileDescriptor(
      owning: open(directory.path(of: file), O_RDONLY | O_CLOEXEC))
    for other in [count - 1, count + 1, -1, Payload.heapLimit, 200_000] where other != count {
      #expect(try Payload.read(descriptor, count: other) == nil, "\(other)")
    }
    let payload = try #require(try Payload.read(descriptor, count: count))
    #expect(content(payload) == body(count))
    #expect(payload.isShareable == (count > Payload.heapLimit))
  }

  @Test func `an open file outlives its removal`() throws {
    guard
      case .file(let descriptor, _) = directory.pictures.open(file, count: 100, allowsWaiting: true)
    else {
      Issue.record("it was not opened")
      return
    }
    try directory.pictures.remove(file)
    #expect(try Payload.read(descriptor, count: 100).map(content) == body(100))
  }

  @Test func `reading leaves no descriptor open`() async {
    await #expect(processExitsWith: .success) {
      let place = try DiskPlace()
      let open = { () throws -> Int in
        try names("/proc/self/fd").count { number in
          var room = [CChar](repeating: 0, count: 256)
          let length = readlink("/proc/self/fd/\(number)", &room, room.count)
          let target = room.prefix(max(length, 0)).map { UInt8(bitPattern: $0) }
          return String(decoding: target, as: UTF8.self).hasPrefix(place.root)
        }
      }
      do {
        let directory = try place.open()
        let before = try open()
        try #require(before == 3, "the directory, the layout and the lock")
        for number in 1...20 as ClosedRange<UInt32> {
          let file = try picture(number)
          try directory.store(body(20_000), as: file)
          try? directory.store(body(20_000), as: file)
          _ = try directory.pictures.prepare(Payload([1]))
          _ = directory.outcome(file, count: 20_000)
          _ = directory.outcome(file, count: 7)
          _ = directory.pictures.check(file, count: 20_000, stamp: 0)
          _ = directory.pictures.check(file, count: 7, stamp: 0)
          _ = try directory.pictures.contents(ofSubdirectory: file.subdirectory)
          _ = directory.isInPlace()
          _ = place.problem()
          try directory.pictures.remove(file)
        }
        try #require(try open() == before)
      }
      try #require(try open() == 0)
    }
  }
}
