import Glibc
import ImgdSystem
import Testing

@testable import ImgctlCommands

/// A directory that is gone with the test.
private final class Directory {
  let path: String

  init() throws {
    var template = Array("/tmp/imgctl-output-XXXXXX".utf8CString)
    path = String(cString: try #require(mkdtemp(&template)))
  }

  deinit {
    for name in names { unlink(path + "/" + name) }
    rmdir(path)
  }

  var names: [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { field in
        field.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  func content(_ name: String) -> [UInt8]? {
    let number = open(path + "/" + name, O_RDONLY)
    guard number >= 0 else { return nil }
    var content: [UInt8] = []
    try? OutputFile.read(FileDescriptor(owning: number)) { bytes throws(SystemFailure) in
      content += bytes
    }
    return content
  }
}

/// The contents of a file or stream, in words that stay short when they are wrong.
private func summary(_ bytes: [UInt8]?) -> String {
  guard let bytes, let first = bytes.first else { return bytes == nil ? "missing" : "empty" }
  let isUniform = bytes.allSatisfy { $0 == first }
  return "\(bytes.count) \(isUniform ? Character(Unicode.Scalar(first)) : "?")"
}

@Suite struct OutputTests {
  /// A daemon whose picture of a URL is the request's number, so often that it takes many reads.
  private func daemon(format: String = "png") throws -> ScriptedDaemon {
    try ScriptedDaemon { request in
      #expect(request.contains(#""deliver":"fd""#))
      let line =
        #"{"id":\#(id(request)),"ok":true,"format":"\#(format)","fds":[{"kind":"encoded"}]}"#
      return [.picture(line, Array(repeating: id(request).utf8.first ?? 0, count: 300_000))]
    }
  }

  @Test func `a picture is written to the named file`() throws {
    let directory = try Directory()
    let file = directory.path + "/x"
    let run = imgctl(["fetch", "http://h/a", "-o", file], try daemon())
    #expect(run.exitCode == .done)
    #expect(run.output == file + "\n")
    #expect(directory.names == ["x"])
    #expect(summary(directory.content("x")) == "300000 0")
  }

  @Test func `a picture replaces the existing file`() throws {
    let directory = try Directory()
    let elsewhere = try Directory()
    let target = elsewhere.path + "/target"
    close(open(target, O_CREAT | O_WRONLY, 0o600))
    #expect(symlink(target, directory.path + "/x") == 0)
    #expect(imgctl(["fetch", "u", "-o", directory.path + "/x"], try daemon()).exitCode == .done)
    #expect(summary(directory.content("x")) == "300000 0")
    #expect(summary(elsewhere.content("target")) == "empty")
  }

  @Test func `pictures in a directory have names of their own`() throws {
    let directory = try Directory()
    let run = imgctl(
      ["fetch", "http://h/a.jpg", "http://g/a.gif?x", "http://h/%2e%2e%2fb", "-o", directory.path],
      try daemon(format: "jpeg"))
    #expect(run.exitCode == .done)
    #expect(directory.names == ["_._b.jpg", "a-2.jpg", "a.jpg"])
    for (name, digit) in [("a.jpg", "0"), ("a-2.jpg", "1"), ("_._b.jpg", "2")] {
      #expect(summary(directory.content(name)) == "300000 \(digit)")
    }
  }

  @Test func `a picture is written to standard output`() throws {
    let run = imgctl(["fetch", "u", "-o", "-"], try daemon())
    #expect(summary(Array(run.output.utf8)) == "300000 0")
  }

  @Test func `several pictures are refused for a target that takes one`() throws {
    let daemon = try daemon()
    for output in ["/nonexistent/file", "-"] {
      let run = imgctl(["fetch", "u", "v", "-o", output], daemon)
      #expect(run.exitCode == .wrongUsage)
      #expect(
        run.messages
          == "imgctl: -o \(output) takes one picture: for 2 URLs name an existing directory\n")
    }
    #expect(imgctl(["fetch", "u", "-o", "/nonexistent/"], daemon).exitCode == .wrongUsage)
  }

  @Test func `a file that cannot be written is named, and nothing is left`() throws {
    let run = imgctl(["fetch", "u", "-o", "/nonexistent/file"], try daemon())
    #expect(run.exitCode == .failed)
    #expect(run.messages == "imgctl: u: create /nonexistent/file: No such file or directory\n")
    let directory = try Directory()
    let full = imgctl(
      ["fetch", "u", "-o", directory.path + "/" + String(repeating: "x", count: 256)], try daemon())
    #expect(full.exitCode == .failed)
    #expect(directory.names == [])
  }

  @Test func `an answer without its picture fails`() throws {
    let daemon = try ScriptedDaemon { [.line(#"{"id":\#(id($0)),"ok":true,"format":"png"}"#)] }
    let run = imgctl(["fetch", "u", "-o", "/nonexistent/file"], daemon)
    #expect(run.exitCode == .failed)
    #expect(run.messages == "imgctl: u: the daemon sent no picture with its answer\n")
  }
}
