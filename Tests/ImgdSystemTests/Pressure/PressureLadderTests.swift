import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

@Suite("The ladder of memory pressure") struct PressureLadderTests {
  let plant: PressurePlant

  init() throws {
    plant = try PressurePlant()
  }

  private func fill(_ name: String, _ text: String) throws {
    try write(text, to: plant.cgroup + "/" + name)
  }

  private func link(_ name: String) {
    symlink("/proc/pressure/memory", name)
  }

  @Test("is not climbed where nothing is wanted") func off() throws {
    link(plant.cgroup + "/memory.pressure")
    let unwanted = PressureWatch(
      PressureRequest(isWanted: false), places: plant.places, loop: plant.loop
    ) {}
    #expect(unwanted.source == .off)
    let null = plant.watch("/dev/null")
    #expect(null.source == .off && null.note == nil)
  }

  @Test("ends at nothing where there is nothing, and says why") func nothing() throws {
    let watch = plant.watch()
    #expect(watch.source == .none)
    let note = try #require(watch.note)
    for word in ["cgroup: ", "system: ", "cgroup-events: ", "sampling: ", "No such file"] {
      #expect(note.contains(word), "\(note)")
    }
    plant.pass(.seconds(10))
    #expect(plant.told == 0)
  }

  @Test("has a trigger on the own group first", .enabled(if: PressureLadderTests.hasStalls))
  func cgroup() throws {
    link(plant.cgroup + "/memory.pressure")
    link(plant.places.stalls)
    let watch = plant.watch()
    #expect(watch.source == .cgroup && watch.note == nil)
    #expect(plant.wakeUps(in: 1_000) == 0)
  }

  @Test("goes to the whole machine when the group cannot be used", .enabled(if: hasStalls))
  func system() throws {
    link(plant.places.stalls)
    let watch = plant.watch()
    #expect(watch.source == .system)
    #expect(watch.note?.hasPrefix("cgroup: open \(plant.cgroup)/memory.pressure: ") == true)
    #expect(plant.wakeUps(in: 1_000) == 0)
  }

  @Test("goes without a group where none is mounted", .enabled(if: hasStalls))
  func noGroup() throws {
    link(plant.places.stalls)
    try write("", to: plant.places.mounts)
    let watch = plant.watch()
    #expect(watch.source == .system)
    #expect(watch.note == "cgroup: the process is in no cgroup of version 2 that is mounted")
  }

  @Test("never writes into an ordinary file") func ordinaryFile() throws {
    let stalls = PressurePlant.stalls(0)
    try fill("memory.pressure", stalls)
    try write(stalls, to: plant.places.stalls)
    let path = plant.directory + "/precious"
    try write("precious", to: path)
    let watch = plant.watch(path, write: "c29tZSAyMDAwMDAgMjAwMDAwMAA=")
    #expect(watch.source == .sampling)
    #expect(read(path) == "precious")
    #expect(read(plant.cgroup + "/memory.pressure") == stalls)
    #expect(read(plant.places.stalls) == stalls)
    #expect(watch.note?.contains("\(path) is an ordinary file") == true)
  }

  @Test("leaves a group of the kernel's when it is removed", .enabled(if: mayMakeGroups))
  func realGroup() throws {
    let name = "/imgd-test-\(getpid())"
    let group = try #require(PressurePlaces.system.ownCgroup) + name
    #expect(mkdir(group, 0o755) == 0)
    defer { rmdir(group) }
    try write("0::\(name)", to: plant.places.membership)
    let mount = group.dropLast(name.utf8.count)
    try write("1 2 0:3 / \(mount) rw - cgroup2 cgroup2 rw\n", to: plant.places.mounts)
    try write(PressurePlant.stalls(0), to: plant.places.stalls)
    let watch = plant.watch()
    #expect(watch.source == .cgroup && watch.note == nil)
    #expect(plant.wakeUps(in: 1_000) == 0)

    rmdir(group)
    #expect(plant.wakeUps(in: 1_000) <= 2)
    #expect(watch.source == .sampling && plant.told == 0)
    #expect(plant.changes.count == 1 && plant.changes.first?.contains("fires no more") == true)
  }

  // MARK: Limits of the group

  @Test("counts how often the group reached its limits") func limits() throws {
    try fill("memory.high", "1000000\n")
    try fill("memory.max", "max\n")
    try fill("memory.events", "low 0\nhigh 3\nmax 0\noom 0\n")
    let watch = plant.watch()
    #expect(watch.source == .cgroupEvents)
    #expect(plant.wakeUps(in: 100) == 0)

    try fill("memory.events", "low 9\nhigh 3\nmax 0\noom 9\n")
    plant.pass(.seconds(1))
    #expect(plant.told == 0)
    try fill("memory.events", "low 9\nhigh 4\nmax 0\noom 9\n")
    plant.loop.settle()
    #expect(plant.told == 1)
    try fill("memory.events", "low 9\nhigh 4\nmax 2\noom 9\n")
    plant.pass(.seconds(1))
    #expect(plant.told == 2)
    #expect(plant.wakeUps(in: 1_000) == 0)
  }

  @Test("passes a group without limits over") func noLimits() throws {
    try fill("memory.high", "max\n")
    try fill("memory.max", "max\n")
    try fill("memory.events", "low 0\nhigh 3\nmax 0\n")
    try write(PressurePlant.stalls(0), to: plant.places.stalls)
    let watch = plant.watch()
    #expect(watch.source == .sampling)
    #expect(watch.note?.contains("neither memory.high nor memory.max set") == true)
  }

  @Test("goes on with the next rung when the counts are gone") func limitsGone() throws {
    try fill("memory.max", "1000000\n")
    try fill("memory.events", "high 0\nmax 0\n")
    try write(PressurePlant.stalls(0), to: plant.places.stalls)
    let watch = plant.watch()
    #expect(watch.source == .cgroupEvents)
    unlink(plant.cgroup + "/memory.events")
    plant.pass(.seconds(1))
    #expect(watch.source == .sampling)
    #expect(plant.changes.count == 1 && plant.told == 0)
  }

  // MARK: Sampling

  @Test("reads the stalls every two seconds as the last resort") func sampling() throws {
    try fill("memory.pressure", PressurePlant.stalls(5_000_000))
    try write(PressurePlant.stalls(0), to: plant.places.stalls)
    let watch = plant.watch()
    #expect(watch.source == .sampling)
    plant.pass(.seconds(4))
    #expect(plant.told == 0)
    try fill("memory.pressure", PressurePlant.stalls(5_200_000))
    plant.pass(.seconds(2))
    #expect(plant.told == 0)
    try fill("memory.pressure", PressurePlant.stalls(5_400_001))
    plant.pass(.milliseconds(1_800))
    #expect(plant.told == 0)
    plant.pass(.milliseconds(200))
    #expect(plant.told == 1)
    plant.pass(.seconds(20))
    #expect(plant.told == 1)
    unlink(plant.cgroup + "/memory.pressure")
    plant.pass(.seconds(2))
    #expect(watch.source == .none)
    #expect(plant.changes.count == 1)
    #expect(watch.note?.contains("can be read no longer") == true)
  }

  @Test("lets go of everything with the watch", arguments: ["pressure", "events"])
  func ends(_ kind: String) throws {
    try fill("memory.max", "1000000\n")
    if kind == "events" { try fill("memory.events", "high 0\nmax 0\n") }
    try fill("memory.pressure", PressurePlant.stalls(0))
    var watch: PressureWatch? = plant.watch()
    #expect(watch?.source == (kind == "events" ? .cgroupEvents : .sampling))
    watch = nil
    try fill("memory.pressure", PressurePlant.stalls(9_000_000))
    try fill("memory.events", "high 9\nmax 9\n")
    plant.pass(.seconds(4))
    #expect(plant.told == 0 && watch == nil)
  }

  /// Whether this process may make control groups below its own.
  static var mayMakeGroups: Bool {
    PressurePlaces.system.ownCgroup.map { hasStalls && access($0, W_OK) == 0 } ?? false
  }

  /// Whether this kernel accounts for stalls.
  static var hasStalls: Bool { access("/proc/pressure/memory", W_OK) == 0 }
}
