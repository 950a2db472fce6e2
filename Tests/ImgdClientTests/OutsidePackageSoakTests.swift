import Glibc
import ImgdTestSupport
import Testing

/// The library as others get it: installed, imported by a package of their own, and used as its page says.
@Suite(.enabled(if: SlowTests.areWanted, Comment(rawValue: SlowTests.reason)))
struct OutsidePackageSoakTests {
  @Test func `the examples of the page are built and run outside this tree`() async throws {
    let stage = try await ClientStage()
    for path in ["/cat.jpg", "/dog.jpg"] {
      stage.origin.plan(path, .picture(TestPicture.jpeg(width: 640, height: 480)))
    }
    for path in ["/old.jpg", "/slow.jpg"] { stage.origin.plan(path, .silence) }
    let said = try await aside { try Self.buildAndRun(stage) }
    for line in [
      "jpeg 640 480 \(stage.stage.daemon.cacheDirectory)", "never mind",
      "1228800 bytes for a function", "64 64 ", "there: ", "draw \(stage.origin.url("/cat.jpg"))", "true 2",
      "memory jpeg", "removed_all memory", "the origin says 404",
    ] { #expect(said.contains("\n" + line), "\(line) is not in:\(said)") }
  }

  @Test func `what was installed is taken away`() async throws {
    let place = TemporaryDirectory()
    let package = place.path + "/usr/local/share/imgd"
    try await aside { try Self.install([], "/usr/local", place.path) }
    #expect(CacheFiles.exists(package + "/swift/Package.swift"))
    try await aside { try Self.install(["--remove"], "/usr/local", place.path) }
    #expect(!CacheFiles.exists(package))
  }

  /// What the examples print, after a newline.
  private static func buildAndRun(_ stage: ClientStage) throws -> String {
    let place = TemporaryDirectory()
    let (root, example) = (place.path + "/root", place.path + "/example")
    try install([], "/usr/local", root)
    try write(TestPicture.png(.gradient(width: 128, height: 128)), to: root + "/mine.png")
    try SwiftExamples(origin: stage.origin.url(""), root: root).write(to: example)
    try run("/usr/bin/env", ["swift", "build", "--package-path", example])
    return try run(
      example + "/.build/debug/example", [],
      environment: ["IMGD_SOCKET=" + stage.stage.daemon.socket])
  }

  private static func install(_ words: [String], _ prefix: String, _ root: String) throws {
    try run(SwiftExamples.tree + "/systemd/install", words + [prefix, root])
  }

  /// Runs a program that must succeed.
  @discardableResult
  private static func run(
    _ program: String, _ arguments: [String], environment: [String]? = nil
  ) throws -> String {
    let run = try ChildProcess.run(program, arguments, environment: environment)
    guard run.code == 0 else {
      throw TestFailure("\(program) \(arguments): \(run.code) \(run.output.suffix(4_000))")
    }
    return "\n" + run.output
  }
}

/// The examples of docs/swift.md: a manifest, a program, and bodies of functions that have its `client`.
struct SwiftExamples {
  private let manifest: String
  private let program: String
  private let bodies: [String]

  /// The directory of the project.
  static let tree = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }

  /// With a test's origin in place of example.org, and the library below another root.
  init(origin: String, root: String) throws {
    guard let page = read(Self.tree + "/docs/swift.md") else {
      throw TestFailure("docs/swift.md is not there")
    }
    let blocks = page.split(separator: "```swift\n").dropFirst().map { block in
      String(block.split(separator: "\n```", maxSplits: 1)[0])
        .replacing("https://example.org", with: origin)
        .replacing("\"/usr/local/", with: "\"\(root)/usr/local/")
        .replacing("\"/tmp/mine.png", with: "\"\(root)/mine.png")
    }
    guard blocks.count > 2 else { throw TestFailure("docs/swift.md has no examples") }
    (manifest, program, bodies) = (blocks[0], blocks[1], Array(blocks[2...]))
  }

  /// Each body is a function; the program calls one after the other.
  func write(to directory: String) throws {
    let sources = directory + "/Sources/example"
    try CacheFiles.shell("mkdir -p '\(sources)'")
    try ImgdTestSupport.write(manifest, to: directory + "/Package.swift")
    let calls = bodies.indices.map { "try await example\($0)(client)\n" }
    try ImgdTestSupport.write(program + "\n" + calls.joined(), to: sources + "/main.swift")
    let functions = bodies.enumerated().map { number, body in
      "func example\(number)(_ client: Imgd) async throws {\n\(body)\n}\n"
    }
    try ImgdTestSupport.write(
      "import ImgdClient\n" + functions.joined(), to: sources + "/Examples.swift")
  }
}

extension String {
  fileprivate func replacing(_ text: String, with other: String) -> String {
    split(separator: text, omittingEmptySubsequences: false).joined(separator: other)
  }
}
