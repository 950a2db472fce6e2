import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct DirectoryWatchTests {
  let directory: String
  let watch: DirectoryWatch

  init() throws {
    directory = try ImgdTestSupport.TemporaryDirectory.make()
    watch = try DirectoryWatch()
    try write("one", to: directory + "/file")
  }

  private func names(_ events: [DirectoryWatch.Event]) -> [String?] { events.map(\.name) }

  @Test func `a directory watch reports files removed, moved or changed, and nothing else`() throws {
    defer { ImgdTestSupport.TemporaryDirectory.remove(directory) }
    let number = try watch.add(directory)
    #expect(watch.events().isEmpty)

    try write("new", to: directory + "/other")
    #expect(read(directory + "/file") == "one")
    #expect(!names(watch.events()).contains("file"))

    try write("two", to: directory + "/file")
    #expect(names(watch.events()).contains("file"))
    chmod(directory + "/file", 0o600)
    #expect(names(watch.events()) == ["file"])
    rename(directory + "/file", directory + "/elsewhere")
    #expect(names(watch.events()) == ["file", "elsewhere"])
    rename(directory + "/other", directory + "/elsewhere")
    #expect(names(watch.events()) == ["other", "elsewhere"])
    unlink(directory + "/elsewhere")
    let events = watch.events()
    #expect(names(events) == ["elsewhere"])
    #expect(events.allSatisfy { $0.directory == number })
    #expect(watch.events().isEmpty)
  }

  @Test func `a directory watch reports that the directory itself was moved or removed`() throws {
    _ = try watch.add(directory)
    let elsewhere = directory + "-moved"
    rename(directory, elsewhere)
    #expect(names(watch.events()) == [nil])
    ImgdTestSupport.TemporaryDirectory.remove(elsewhere)
    #expect(names(watch.events()).contains(nil))
  }

  @Test func `a directory watch reports lost events`() throws {
    defer { ImgdTestSupport.TemporaryDirectory.remove(directory) }
    _ = try watch.add(directory)
    let path = directory + "/file"
    // Alternately, because the kernel merges equal events.
    for number in 0..<40_000 { chmod(path, number.isMultiple(of: 2) ? 0o600 : 0o640) }
    try write("other", to: directory + "/other")
    for number in 0..<40_000 {
      chmod(directory + (number.isMultiple(of: 2) ? "/other" : "/file"), 0o600)
    }
    #expect(watch.events().contains { $0.directory == nil })
  }

  @Test func `a directory watch follows no link, and needs a directory`() throws {
    defer { ImgdTestSupport.TemporaryDirectory.remove(directory) }
    symlink(directory, directory + "/link")
    #expect(throws: SystemFailure.self) { try watch.add(directory + "/link") }
    #expect(throws: SystemFailure.self) { try watch.add(directory + "/file") }
    #expect(throws: SystemFailure.self) { try watch.add(directory + "/missing") }
  }
}
