import Glibc
import ImgdTestSupport
import Testing

/// The programs of docs/recipes.md, run as they stand there.
struct RecipeTests {
  private static let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
  private static let python = root + "/clients/python"
  private static let cat = TestPicture.jpeg(width: 640, height: 480)

  private let stage: Stage
  private let directory = TemporaryDirectory()

  init() throws {
    stage = try Stage()
    stage.origin.plan("/cat.jpg", .picture(Self.cat, type: "image/jpeg"))
    stage.origin.plan("/missing.jpg", .status(404))
    try #require(symlink(BuiltProduct.path(of: "imgctl"), directory.path + "/imgctl") == 0)
  }

  /// The blocks of a language below a heading, with this test's URLs and places.
  private func blocks(_ language: String, _ heading: String) throws -> [String] {
    try DocumentPage("recipes.md").blocks(language, under: heading).map { block in
      block.replacing("https://example.org", with: stage.base)
        .replacing("/var/cache/imgd", with: stage.daemon.cacheDirectory)
    }
  }

  private var environment: [String] {
    [
      "PATH=\(directory.path):/usr/bin:/bin", "IMGD_SOCKET=\(stage.daemon.socket)",
      "PYTHONPATH=\(Self.python)", "HOME=\(directory.path)",
    ]
  }

  private func run(_ program: String, _ arguments: String...) throws -> (code: CInt, output: String) {
    try ChildProcess.run(
      "/usr/bin/env", ["-C", directory.path, program] + arguments, environment: environment)
  }

  /// The block of shell in which a text stands, run.
  private func shell(_ part: String) throws -> String {
    let block = try #require(blocks("sh", "Shell").first { $0.contains(part) })
    return try run("/bin/sh", "-c", block).output
  }

  @Test func `the sections of origins are configurations without a mistake`() throws {
    let key = "[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = secret\n"
    try write(key, to: directory.path + "/photos.credentials")
    try write("Authorization: Bearer secret\n", to: directory.path + "/intranet.headers")
    for name in ["photos.credentials", "intranet.headers"] { chmod(directory.path + "/" + name, 0o640) }
    let sections = try blocks("ini", "Origins")
    #expect(sections.count == 5)
    for section in sections {
      let file = directory.path + "/imgd.conf"
      try write(section.replacing("/etc/imgd", with: directory.path), to: file)
      let checked = try run(BuiltProduct.path(of: "imgd"), "--config", file, "--check-config")
      #expect(checked.code == 0, "\(section)\(checked.output)")
    }
  }

  @Test func `a picture is copied from the cache`() throws {
    #expect(try shell("wallpaper.jpg") == "")
    #expect(readBytes(directory.path + "/wallpaper.jpg") == Self.cat)
    #expect(try shell("only-if-cached").hasPrefix(stage.daemon.cacheDirectory))
    #expect(try shell("--soft").hasPrefix("marked as stale"))
  }

  @Test func `a list may name the files`() throws {
    #expect(try shell("pets/cat.webp") == "named/pets/cat.webp\n")
    let bytes = readBytes(directory.path + "/named/pets/cat.webp") ?? []
    #expect(bytes.prefix(4) == Array("RIFF".utf8)[...])
  }

  @Test func `a list of URLs becomes a directory of thumbnails`() throws {
    for number in 0..<5 {
      stage.origin.plan(
        "/\(number).png", .picture(TestPicture.png(.gradient(width: 300, height: 300))))
    }
    let urls = (0..<5).map { stage.origin.url("/\($0).png") }.joined(separator: "\n")
    try write(urls + "\n", to: directory.path + "/urls.txt")
    let output = try shell("thumbnails")
    let names = TemporaryDirectory.names(in: directory.path + "/thumbnails")
    #expect(names.sorted() == (0..<5).map { "\($0).webp" }, "\(output)")
  }

  @Test func `files of one's own become thumbnails, and pictures under a URL`() throws {
    mkdir(directory.path + "/Pictures", 0o755)
    try write(Self.cat, to: directory.path + "/Pictures/cat.jpg")
    #expect(try shell("~/Pictures -o small/") == "small/cat.webp\n")
    let thumbnail = try shell("--freedesktop")
    #expect(thumbnail.hasPrefix(directory.path + "/.cache/thumbnails/large/"), "\(thumbnail)")
    #expect(try shell("imgctl put").hasPrefix("jpeg 640x480, "))
    #expect(stage.origin.requests("/uploaded.jpg").isEmpty)
  }

  @Test func `failures are told apart`() throws {
    let shown = try shell("again later").split(separator: "\n")
    #expect(shown.last == "never", "\(shown)")
    #expect(try shell("only-if-cached").hasSuffix("not in the cache\n"))
  }

  @Test func `a picture goes into another program`() throws {
    let file = directory.path + "/cat.jpg"
    _ = try run("imgctl", "fetch", stage.origin.url("/cat.jpg"), "-o", file)
    let sum = try run("sha256sum", file).output.prefix(64)
    #expect(try shell("sha256sum").prefix(64) == sum && sum.count == 64)
  }

  @Test(.enabled(if: access("/usr/bin/socat", X_OK) == 0))
  func `a line of the socket has no spaces before it, however long it takes`() throws {
    let gate = Gate()
    stage.origin.plan("/cat.jpg", .held(at: gate, then: .picture(Self.cat)))
    let block = try #require(blocks("sh", "Shell").first { $0.contains("socat") })
    try write(block, to: directory.path + "/lines.sh")
    let shell = try ChildProcess.spawn(
      "/bin/sh", [directory.path + "/lines.sh"], output: directory.path + "/said",
      environment: environment)
    #expect(gate.waitUntilReached())
    // A connection that waits in the same way has got a space.
    try stage.begin(#"{"cmd":"fetch","url":"ORIGIN/cat.jpg"}"#)
    stage.client.halfClose()
    #expect(try stage.client.receiveRaw().first == UInt8(ascii: " "))
    gate.open()
    #expect(ChildProcess.wait(shell) == 0)
    let said = try #require(read(directory.path + "/said"))
    #expect(said.hasPrefix("{") && said.contains(#""ok":true"#), "\(said)")
  }

  @Test(.enabled(if: access("/usr/bin/node", X_OK) == 0))
  func `node fetches a thumbnail`() throws {
    let program = try #require(blocks("js", "node").first)
    try write(program, to: directory.path + "/fetch.js")
    let (code, output) = try run("node", "fetch.js")
    #expect(code == 0 && output.hasSuffix(".jpg 256 192\n"), "\(output)")
    try write(program.replacing("/cat.jpg", with: "/missing.jpg"), to: directory.path + "/fetch.js")
    #expect(try run("node", "fetch.js").output.hasPrefix("never: "))
  }

  @Test(.enabled(if: access(python + "/imgd/__init__.py", R_OK) == 0))
  func `Python fetches a thumbnail`() throws {
    let program = try #require(blocks("python", "Python").first)
    let (code, output) = try run("python3", "-c", program)
    #expect(code == 0 && output.hasSuffix("jpeg 256 192\n"), "\(output)")
  }

  @Test(
    .enabled(if: access("/usr/sbin/nginx", X_OK) == 0 && geteuid() == 0),
    .enabled(if: access(python + "/imgd/__init__.py", R_OK) == 0))
  func `nginx serves a picture that an application named`() throws {
    // An address of this test's own, where no other test can have the port.
    let place = "127.0.0.87:8001"
    let application = try #require(blocks("python", "nginx").first)
      .replacing("\"127.0.0.1\", 8001", with: "\"127.0.0.87\", 8001")
    let locations = try #require(blocks("nginx", "nginx").first)
      .replacing("127.0.0.1:8001", with: place)
    try write(application, to: directory.path + "/pictures.py")
    let python = try ChildProcess.spawn(
      "/usr/bin/python3", [directory.path + "/pictures.py"], environment: environment)
    defer { Self.end(python) }
    let nginx = try NginxProcess(in: directory.path) { address in
      """
      server {
        listen \(address);
        \(locations)
      }
      """
    }
    let url = "http://\(nginx.address)/pictures/"
    // Until the application listens, nginx answers 502.
    let (code, output) = try run(
      "curl", "-sSf", "--max-time", "60", "--retry", "60", "--retry-delay", "1",
      "--retry-all-errors", "-D", "head",
      "-o", "cat.jpg", url + "cat.jpg")
    #expect(code == 0, "\(output) \(nginx.complaints)")
    let head = try #require(read(directory.path + "/head"))
    #expect(head.contains("Content-Type: image/jpeg") && head.contains("Server: nginx"))
    let thumbnail = try run(
      "imgctl", "fetch", stage.origin.url("/cat.jpg"), "--resize", "512x", "-o", "-")
    #expect(read(directory.path + "/cat.jpg")?.utf8.count == thumbnail.output.utf8.count)
    let missing = try run(
      "curl", "-s", "--max-time", "60", "-o", "/dev/null", "-w", "%{http_code}", url + "missing.jpg"
    )
    #expect(missing.output == "404")
    // Nobody gets at the cache itself.
    let inside = try run(
      "curl", "-s", "--max-time", "60", "-o", "/dev/null", "-w", "%{http_code}",
      "http://\(nginx.address)/imgd-files/lock")
    #expect(inside.output == "404")
  }

  private static func end(_ program: pid_t) {
    kill(program, SIGTERM)
    _ = ChildProcess.wait(program)
  }

  @Test(.enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0))
  func `systemd finds no fault with the units`() throws {
    let units = try blocks("ini", "systemd")
    try #require(units.count == 2)
    let program = BuiltProduct.path(of: "imgctl")
    for (unit, name) in zip(units, ["pictures.service", "pictures.timer"]) {
      try write(
        unit.replacing("/usr/bin/imgctl", with: program), to: directory.path + "/" + name)
    }
    let (code, output) = try run(
      "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", "./pictures.service",
      "./pictures.timer")
    #expect(code == 0 && output == "", "\(output)")
  }
}
