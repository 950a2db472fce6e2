import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdCache

struct DirectoryOpeningTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  /// The reason why a directory was not trusted.
  private func reason(_ path: String? = nil) -> String? {
    guard case .unsafe(_, let reason) = place.problem(path) else { return nil }
    return reason
  }

  @Test func `a missing directory and its parent are created`() throws {
    let path = place.root + "/new/disk"
    let directory = try DiskDirectory.open(path)
    for made in [place.root + "/new", path, path + "/1"] {
      #expect(try permissions(made) == 0o750, "\(made)")
    }
    #expect(try permissions(path + "/lock") == 0o600)
    #expect(try names(path) == ["1", "lock"])
    #expect(directory.path == path)
    #expect(directory.indexPath == path + "/1/index.db")
    #expect(directory.path(of: try picture()) == path + "/1/" + (try picture()).relativePath)
  }

  @Test func `no more than two missing directories are created`() {
    guard case .unavailable(let failure) = place.problem(place.root + "/one/two/three") else {
      Issue.record("it was opened")
      return
    }
    #expect(failure.errno == ENOENT)
    #expect(failure.description.contains(place.root + "/one/two"))
  }

  @Test func `an existing directory is used`() throws {
    _ = mkdir(place.path, 0o700)
    for _ in 0..<3 { _ = try place.open() }
    #expect(try permissions(place.path) == 0o700, "as it was set up")
    #expect(try names(place.path) == ["1", "lock"])
  }

  @Test func `a new directory inherits the group of its parent`() throws {
    _ = mkdir(place.path, 0o750)
    _ = chmod(place.path, 0o2750)
    let directory = try place.open()
    try directory.store([1], as: try picture())
    for made in ["/1", "/1/ab"] {
      #expect(try permissions(place.path + made) == 0o2750, "\(made)")
    }
  }

  @Test func `slashes at the end of the path are ignored`() throws {
    #expect(try DiskDirectory.open(place.path + "///").path == place.path)
  }

  // MARK: Refusals

  @Test(arguments: ["", "disk", "./disk", "~/disk"])
  func `a relative path is refused`(path: String) {
    #expect(reason(path)?.contains("is not an absolute path") == true)
  }

  @Test func `a path with a zero byte is refused`() {
    #expect(reason(place.path + "\0/more")?.contains("zero byte") == true)
    #expect(access(place.path, F_OK) != 0)
  }

  @Test(arguments: ["", "/"])
  func `a link in place of the directory is refused`(end: String) throws {
    _ = mkdir(place.root + "/elsewhere", 0o750)
    _ = symlink("elsewhere", place.path)
    #expect(reason(place.path + end)?.contains("is a symbolic link") == true)
    #expect(try names(place.root + "/elsewhere") == [])
  }

  @Test func `a dangling link in place of the directory is refused`() {
    _ = symlink("nowhere", place.path)
    #expect(reason()?.contains("is a symbolic link") == true)
    #expect(access(place.root + "/nowhere", F_OK) != 0)
  }

  @Test func `a file in place of the directory is refused`() throws {
    try write("text", to: place.path)
    #expect(reason()?.contains("is not a directory") == true)
    #expect(read(place.path) == "text")
    _ = unlink(place.path)
    _ = mkfifo(place.path, 0o600)
    #expect(reason()?.contains("is not a directory") == true)
  }

  @Test func `a directory below a file is refused`() throws {
    try write("text", to: place.path)
    guard case .unavailable(let failure) = place.problem(place.path + "/below") else {
      Issue.record("it was opened")
      return
    }
    #expect(failure.errno == ENOTDIR)
  }

  @Test(arguments: [0o770, 0o702, 0o777, 0o1777] as [mode_t])
  func `a directory that other users may write to is refused`(mode: mode_t) throws {
    _ = mkdir(place.path, 0o700)
    _ = chmod(place.path, mode)
    let reason = try #require(self.reason())
    #expect(reason.contains("mode 0\(String(mode, radix: 8))"))
    #expect(reason.contains("chmod go-w \(place.path)"))
    #expect(try names(place.path) == [])
    #expect(try permissions(place.path) == mode, "nothing is put right silently")
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a directory away"))
  func `a directory of another user is refused`() throws {
    _ = mkdir(place.path, 0o700)
    _ = chown(place.path, 65_534, 65_534)
    let reason = try #require(self.reason())
    #expect(reason.contains("belongs to user 65534"))
    #expect(reason.contains("chown 0 \(place.path)"))
  }

  @Test func `the problem names the directory`() {
    let problem = DirectoryProblem.unsafe(path: "/a/b", reason: "is not a directory")
    #expect(problem.description == "/a/b is not a directory")
    let failure = SystemFailure("mkdir", "/a/b", errno: EROFS)
    #expect(DirectoryProblem.unavailable(failure).description.hasPrefix("mkdir /a/b: "))
  }

  @Test(
    arguments: [
      (EROFS, "; a service of systemd can write where its unit says, and nowhere else: "),
      (EACCES, "as root: install -d -o \(geteuid()) -g \(getegid()) -m 750 /a/b"),
      (ENOENT, "; name another directory in Disk.Directory="),
    ] as [(CInt, String)])
  func `what would be right stands behind a semicolon`(errno: CInt, remedy: String) {
    let problem = DirectoryProblem.unavailable(SystemFailure("mkdir", "/a/b", errno: errno))
    #expect(problem.description.contains(remedy), "\(problem)")
    #expect(problem.description.split(separator: ";").count == 2)
  }

  // MARK: The lock

  @Test func `a directory is used by one daemon at a time`() throws {
    do {
      let first = try place.open()
      guard case .taken(let path, let pid) = place.problem() else {
        Issue.record("it was opened twice")
        return
      }
      #expect(path == place.path)
      #expect(pid == getpid())
      #expect(place.problem()?.description.contains("process \(getpid())") == true)
      #expect(first.isInPlace())
    }
    #expect(place.problem() == nil, "the first has gone")
  }

  @Test(arguments: ["", "x", "12x\n", "-", "99999999999999999999\n", "\n", "\u{0}\u{0}"])
  func `a lock file without a valid process number is locked all the same`(text: String) throws {
    let first = try place.open()
    try write(text, to: place.path + "/lock")
    guard case .taken(_, let pid) = place.problem() else {
      Issue.record("it was opened twice")
      return
    }
    #expect(pid == nil)
    #expect(place.problem()?.description.contains("another daemon") == true)
    #expect(first.isInPlace())
  }

  @Test func `the lock file names only its last holder`() throws {
    _ = mkdir(place.path, 0o700)
    try write("123456789012345", to: place.path + "/lock")
    let directory = try place.open()
    #expect(read(place.path + "/lock") == "\(getpid())\n")
    #expect(directory.isInPlace())
  }

  @Test func `a lock that is not a regular file is refused`() throws {
    let lock = place.path + "/lock"
    let target = place.root + "/target"
    _ = mkdir(place.path, 0o700)
    for make in [{ symlink(target, lock) }, { mkdir(lock, 0o700) }, { mkfifo(lock, 0o600) }] {
      #expect(make() == 0)
      guard case .unsafe(let path, _) = place.problem() else {
        Issue.record("it was opened")
        return
      }
      #expect(path == lock)
      #expect(unlink(lock) == 0 || rmdir(lock) == 0)
    }
    #expect(access(target, F_OK) != 0)
  }

  // MARK: The layout

  @Test func `a link, FIFO or file in place of the layout is set aside`() throws {
    let layout = place.path + "/1"
    _ = mkdir(place.path, 0o700)
    _ = mkdir(place.root + "/elsewhere", 0o700)
    for make in [
      { symlink(self.place.root + "/elsewhere", layout) }, { mkfifo(layout, 0o600) },
      { symlink("nowhere", layout) }, { open(layout, O_CREAT | O_WRONLY, 0o600) },
    ] {
      #expect(make() >= 0)
      try place.open().store([1], as: try picture())
      TemporaryDirectory.remove(layout)
    }
    #expect(
      try names(place.path) == ["1.aside-1", "1.aside-2", "1.aside-3", "1.aside-4", "lock"])
    #expect(try names(place.root + "/elsewhere") == [])
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a directory away"))
  func `a layout of another user is set aside`() throws {
    do { try place.open().store([1], as: try picture()) }
    _ = chown(place.path + "/1", 65_534, 65_534)
    let directory = try place.open()
    #expect(directory.outcome(try picture(), count: 1) == .missing)
    #expect(try names(place.path) == ["1", "1.aside-1", "lock"])
  }

  @Test func `a layout that other users may write to is refused`() throws {
    do { _ = try place.open() }
    _ = chmod(place.path + "/1", 0o770)
    #expect(reason()?.contains("chmod go-w \(place.path)/1") == true)
  }

  @Test func `a layout of another version is left as it is`() throws {
    _ = mkdir(place.path, 0o700)
    _ = mkdir(place.path + "/2", 0o700)
    try write("future", to: place.path + "/2/index.db")
    _ = try place.open()
    #expect(read(place.path + "/2/index.db") == "future")
    #expect(try names(place.path) == ["1", "2", "lock"])
  }

  // MARK: In place

  @Test func `an open directory is recognised in its place`() throws {
    let directory = try place.open()
    #expect(directory.isInPlace())
    try directory.store([1], as: try picture())
    #expect(directory.isInPlace())
  }

  @Test func `the removal of an open directory is noticed`() throws {
    let directory = try place.open()
    TemporaryDirectory.remove(place.path)
    #expect(!directory.isInPlace())
    do {
      let again = try place.open()
      #expect(again.isInPlace())
      #expect(!directory.isInPlace(), "another directory has its path")
    }
    #expect(throws: SystemFailure.self) { try directory.store([1], as: try picture()) }
  }

  @Test(arguments: ["", "/1"])
  func `the move of an open directory is noticed`(part: String) throws {
    let directory = try place.open()
    _ = rename(place.path + part, place.root + "/moved")
    #expect(!directory.isInPlace())
    _ = symlink(place.root + "/moved", place.path + part)
    #expect(!directory.isInPlace(), "a link to it is not it")
    _ = unlink(place.path + part)
    _ = rename(place.root + "/moved", place.path + part)
    #expect(directory.isInPlace())
  }

  @Test func `an open directory has the figures of its file system`() throws {
    let space = try place.open().pictures.freeSpace()
    #expect(space.free > 0)
    #expect(space.total > space.free)
  }
}
