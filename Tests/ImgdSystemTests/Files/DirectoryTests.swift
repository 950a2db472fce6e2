import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

/// Cases that the disk tier's tests do not cover: opening without `openat2`, and names in a directory.
final class DirectoryTests {
  private let root: String
  private let directory: Directory

  init() throws {
    root = try ImgdTestSupport.TemporaryDirectory.make()
    directory = try Directory(path: root)
  }

  deinit { ImgdTestSupport.TemporaryDirectory.remove(root) }

  /// The first bytes of a file opened with and without `openat2`, or the error.
  private func front(_ below: String) -> [Result<[UInt8], Code>] {
    let opened = result { try directory.open(below, for: .reading).front(10) }
    return [opened, result { try directory.openBySteps(below, for: .reading).front(10) }]
  }

  private func result(_ body: () throws -> [UInt8]) -> Result<[UInt8], Code> {
    do { return .success(try body()) } catch {
      return .failure(Code(number: (error as? SystemFailure)?.errno ?? 0))
    }
  }

  private struct Code: Error, Equatable { let number: CInt }

  @Test func `a directory opens files below it`() throws {
    try directory.make("a", permissions: 0o750)
    try directory.directory("a").make("bc", permissions: 0o750)
    for path in ["f", "a/f", "a/bc/f"] {
      try write(path, to: root + "/" + path)
      #expect(front(path) == [.success(Array(path.utf8)), .success(Array(path.utf8))])
      #expect(try directory.openBySteps(path, for: .status).status(path).size == path.utf8.count)
    }
    #expect(try directory.openBySteps("a/bc", for: .listing).status("bc").kind == .directory)
  }

  @Test func `a directory follows no link, with or without openat2`() throws {
    try directory.make("a", permissions: 0o750)
    try write("text", to: root + "/a/f")
    _ = symlink("a", root + "/b")
    _ = symlink("f", root + "/a/g")
    _ = symlink(root, root + "/a/up")
    for path in ["b/f", "a/g", "b/g", "a/up/a/f"] {
      for result in front(path) {
        guard case .failure(let code) = result else {
          Issue.record("\(path) was opened")
          continue
        }
        #expect([ELOOP, ENOTDIR].contains(code.number))
      }
    }
  }

  @Test func `a directory fails equally with and without openat2`() throws {
    try write("text", to: root + "/f")
    let long = String(repeating: "x", count: 256)
    #expect(front("missing") == [.failure(Code(number: ENOENT)), .failure(Code(number: ENOENT))])
    #expect(front("no/f") == [.failure(Code(number: ENOENT)), .failure(Code(number: ENOENT))])
    #expect(front("f/g") == [.failure(Code(number: ENOTDIR)), .failure(Code(number: ENOTDIR))])
    for path in [long, long + "/f"] {
      let tooLong = Code(number: ENAMETOOLONG)
      #expect(front(path) == [.failure(tooLong), .failure(tooLong)])
    }
  }

  @Test func `a directory leaves no descriptor open on the way`() async {
    await #expect(processExitsWith: .success) {
      let root = try ImgdTestSupport.TemporaryDirectory.make()
      defer { ImgdTestSupport.TemporaryDirectory.remove(root) }
      let directory = try Directory(path: root)
      try directory.make("a", permissions: 0o750)
      for path in ["a", "a/b", "a/b/c", "b/c/d", String(repeating: "x", count: 300) + "/f"] {
        for _ in 0..<10 {
          _ = try? directory.openBySteps(path, for: .reading)
          _ = try? directory.open(path, for: .status)
          _ = try? directory.names()
        }
      }
      try #require(openDescriptors(of: root) == 1)
    }
  }

  @Test func `a directory lists every name`() throws {
    #expect(try directory.names() == [])
    let names = (0..<500).map { "file-\($0)" }
    for name in names { try write("", to: root + "/" + name) }
    for _ in 0..<2 { #expect(try Set(directory.names()) == Set(names)) }
  }

  @Test func `a directory sets a file aside under the first free name`() throws {
    for text in ["one", "two"] {
      try write(text, to: root + "/f")
      try directory.setAside("f")
    }
    #expect(read(root + "/f.aside-1") == "one")
    #expect(read(root + "/f.aside-2") == "two")
    let failure = #expect(throws: SystemFailure.self) { try directory.setAside("f") }
    #expect(failure?.errno == ENOENT)
  }
}
