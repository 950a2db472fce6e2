import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct PressureSourceTests {
  let fixture: PressureFixture

  init() throws {
    fixture = try PressureFixture()
  }

  private func fill(_ name: String, _ text: String) throws {
    try write(text, to: fixture.cgroup + "/" + name)
  }

  private func link(_ name: String) {
    symlink("/proc/pressure/memory", name)
  }

  @Test func `pressure that is turned off has no source`() throws {
    link(fixture.cgroup + "/memory.pressure")
    let unwanted = PressureMonitor(
      PressureRequest(isWanted: false), paths: fixture.paths, loop: fixture.loop
    ) {}
    #expect(unwanted.source == .off)
    let null = fixture.watch("/dev/null")
    #expect(null.source == .off && null.note == nil)
  }

  @Test func `a machine without any source has none, and a note explains it`() throws {
    let watch = fixture.watch()
    #expect(watch.source == .none)
    let note = try #require(watch.note)
    for word in ["cgroup: ", "system: ", "cgroup-events: ", "sampling: ", "No such file"] {
      #expect(note.contains(word), "\(note)")
    }
    fixture.pass(.seconds(10))
    #expect(fixture.reports == 0)
  }

  @Test(.enabled(if: PressureSourceTests.hasStalls))
  func `the first choice is a trigger on the own group`() throws {
    link(fixture.cgroup + "/memory.pressure")
    link(fixture.paths.stalls)
    let watch = fixture.watch()
    #expect(watch.source == .cgroup && watch.note == nil)
    #expect(fixture.wakeUps(in: 1_000) == 0)
  }

  @Test(.enabled(if: hasStalls))
  func `the whole machine is the source when the group cannot be used`() throws {
    link(fixture.paths.stalls)
    let watch = fixture.watch()
    #expect(watch.source == .system)
    #expect(watch.note?.hasPrefix("cgroup: open \(fixture.cgroup)/memory.pressure: ") == true)
    #expect(fixture.wakeUps(in: 1_000) == 0)
  }

  @Test(.enabled(if: hasStalls))
  func `a group is no source where none is mounted`() throws {
    link(fixture.paths.stalls)
    try write("", to: fixture.paths.mounts)
    let watch = fixture.watch()
    #expect(watch.source == .system)
    #expect(watch.note == "cgroup: the process is in no cgroup of version 2 that is mounted")
  }

  @Test func `an ordinary file is never written to`() throws {
    let stalls = PressureFixture.stalls(0)
    try fill("memory.pressure", stalls)
    try write(stalls, to: fixture.paths.stalls)
    let path = fixture.directory + "/precious"
    try write("precious", to: path)
    let watch = fixture.watch(path, write: "c29tZSAyMDAwMDAgMjAwMDAwMAA=")
    #expect(watch.source == .sampling)
    #expect(read(path) == "precious")
    #expect(read(fixture.cgroup + "/memory.pressure") == stalls)
    #expect(read(fixture.paths.stalls) == stalls)
    #expect(watch.note?.contains("\(path) is an ordinary file") == true)
  }

  @Test(.enabled(if: mayMakeGroups))
  func `the source is replaced when its group is removed`() throws {
    let name = "/imgd-test-\(getpid())"
    let group = try #require(PressurePaths.system.ownCgroup) + name
    #expect(mkdir(group, 0o755) == 0)
    defer { rmdir(group) }
    try write("0::\(name)", to: fixture.paths.membership)
    let mount = group.dropLast(name.utf8.count)
    try write("1 2 0:3 / \(mount) rw - cgroup2 cgroup2 rw\n", to: fixture.paths.mounts)
    try write(PressureFixture.stalls(0), to: fixture.paths.stalls)
    let watch = fixture.watch()
    #expect(watch.source == .cgroup && watch.note == nil)
    #expect(fixture.wakeUps(in: 1_000) == 0)

    rmdir(group)
    #expect(fixture.wakeUps(in: 1_000) <= 2)
    #expect(watch.source == .sampling && fixture.reports == 0)
    #expect(
      fixture.changes.count == 1 && fixture.changes.first?.contains("no longer fires") == true)
  }

  // MARK: Limits of the group

  @Test func `the counts tell how often the group reached its limits`() throws {
    try fill("memory.high", "1000000\n")
    try fill("memory.max", "max\n")
    try fill("memory.events", "low 0\nhigh 3\nmax 0\noom 0\n")
    let watch = fixture.watch()
    #expect(watch.source == .cgroupEvents)
    #expect(fixture.wakeUps(in: 100) == 0)

    try fill("memory.events", "low 9\nhigh 3\nmax 0\noom 9\n")
    fixture.pass(.seconds(1))
    #expect(fixture.reports == 0)
    try fill("memory.events", "low 9\nhigh 4\nmax 0\noom 9\n")
    fixture.loop.settle()
    #expect(fixture.reports == 1)
    try fill("memory.events", "low 9\nhigh 4\nmax 2\noom 9\n")
    fixture.pass(.seconds(1))
    #expect(fixture.reports == 2)
    #expect(fixture.wakeUps(in: 1_000) == 0)
  }

  @Test func `a group without limits is no source`() throws {
    try fill("memory.high", "max\n")
    try fill("memory.max", "max\n")
    try fill("memory.events", "low 0\nhigh 3\nmax 0\n")
    try write(PressureFixture.stalls(0), to: fixture.paths.stalls)
    let watch = fixture.watch()
    #expect(watch.source == .sampling)
    #expect(watch.note?.contains("neither memory.high nor memory.max set") == true)
  }

  @Test func `the source is replaced when the counts are gone`() throws {
    try fill("memory.max", "1000000\n")
    try fill("memory.events", "high 0\nmax 0\n")
    try write(PressureFixture.stalls(0), to: fixture.paths.stalls)
    let watch = fixture.watch()
    #expect(watch.source == .cgroupEvents)
    unlink(fixture.cgroup + "/memory.events")
    fixture.pass(.seconds(1))
    #expect(watch.source == .sampling)
    #expect(fixture.changes.count == 1 && fixture.reports == 0)
  }

  // MARK: Sampling

  @Test func `the last resort reads the stalls every two seconds`() throws {
    try fill("memory.pressure", PressureFixture.stalls(5_000_000))
    try write(PressureFixture.stalls(0), to: fixture.paths.stalls)
    let watch = fixture.watch()
    #expect(watch.source == .sampling)
    fixture.pass(.seconds(4))
    #expect(fixture.reports == 0)
    try fill("memory.pressure", PressureFixture.stalls(5_200_000))
    fixture.pass(.seconds(2))
    #expect(fixture.reports == 0)
    try fill("memory.pressure", PressureFixture.stalls(5_400_001))
    fixture.pass(.milliseconds(1_800))
    #expect(fixture.reports == 0)
    fixture.pass(.milliseconds(200))
    #expect(fixture.reports == 1)
    fixture.pass(.seconds(20))
    #expect(fixture.reports == 1)
    unlink(fixture.cgroup + "/memory.pressure")
    fixture.pass(.seconds(2))
    #expect(watch.source == .none)
    #expect(fixture.changes.count == 1)
    #expect(watch.note?.contains("can no longer be read") == true)
  }

  @Test(arguments: ["pressure", "events"])
  func `the source is closed with the monitor`(_ kind: String) throws {
    try fill("memory.max", "1000000\n")
    if kind == "events" { try fill("memory.events", "high 0\nmax 0\n") }
    try fill("memory.pressure", PressureFixture.stalls(0))
    var watch: PressureMonitor? = fixture.watch()
    #expect(watch?.source == (kind == "events" ? .cgroupEvents : .sampling))
    watch = nil
    try fill("memory.pressure", PressureFixture.stalls(9_000_000))
    try fill("memory.events", "high 9\nmax 9\n")
    fixture.pass(.seconds(4))
    #expect(fixture.reports == 0 && watch == nil)
  }

  /// Whether this process may make control groups below its own.
  static var mayMakeGroups: Bool {
    PressurePaths.system.ownCgroup.map { hasStalls && access($0, W_OK) == 0 } ?? false
  }

  /// Whether this kernel accounts for stalls.
  static var hasStalls: Bool { access("/proc/pressure/memory", W_OK) == 0 }
}
