import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Pictures of the user's own, through imgctl.
struct OwnPictureTests {
  private let stage: Stage
  private let directory = TemporaryDirectory()

  init() throws {
    stage = try Stage()
    for number in 0..<5 {
      let pixels = TestPixels.gradient(width: 300 + number, height: 200)
      try write(TestPicture.png(pixels), to: directory.path + "/\(number).png")
    }
  }

  private func imgctl(_ arguments: String...) throws -> (code: CInt, output: String) {
    try ChildProcess.run(
      BuiltProduct.path(of: "imgctl"), arguments,
      environment: ["IMGD_SOCKET=\(stage.daemon.socket)", "XDG_CACHE_HOME=\(directory.path)/cache", "PATH=/bin"])
  }

  @Test func `a directory becomes thumbnails, and is decoded once`() throws {
    let out = directory.path + "/out"
    for run in 0..<2 {
      let (code, output) = try imgctl(
        "thumbnail", directory.path + "/*.png", "-s", "64", "--format", "webp", "-o", "\(out)\(run)/")
      #expect(code == 0, "\(output)")
      #expect(TemporaryDirectory.names(in: "\(out)\(run)").sorted() == (0..<5).map { "\($0).webp" })
      #expect(try stage.stats("decode", "completed") == 5)
    }
    #expect(try imgctl("fetch", out + "0/3.webp", "--as", "none").output.contains(": webp 64x42 "))
  }

  @Test func `more files than it may open at once are fetched`() throws {
    let many = TemporaryDirectory()
    let picture = readBytes(directory.path + "/0.png") ?? []
    for number in 0..<150 { try write(picture, to: many.path + "/\(number).png") }
    let (code, output) = try ChildProcess.run(
      "/usr/bin/prlimit", ["--nofile=40", BuiltProduct.path(of: "imgctl"), "fetch", many.path, "--as", "none"],
      environment: ["IMGD_SOCKET=\(stage.daemon.socket)"])
    #expect(code == 0 && output.split(separator: "\n").count == 150, "\(output)")
  }

  @Test func `thumbnails of a desktop are pictures, and up to date`() throws {
    let (code, output) = try imgctl("thumbnail", "--freedesktop", directory.path + "/1.png")
    #expect(code == 0 && output.hasPrefix(directory.path + "/cache/thumbnails/large/"), "\(output)")
    let thumbnail = String(output.dropLast())
    #expect(try imgctl("fetch", thumbnail, "--as", "none").output.contains(": png 256x170 "))
    let before = try stage.stats("decode", "completed")
    let again = try imgctl("thumbnail", "--freedesktop", directory.path + "/1.png")
    #expect(again.code == 0 && again.output == output, "\(again)")
    #expect(try stage.stats("decode", "completed") == before)
  }

  @Test func `a file has a path in the cache where that is asked for`() throws {
    let (code, output) = try imgctl("fetch", directory.path + "/2.png")
    #expect(code == 0 && output.hasPrefix(stage.daemon.cacheDirectory), "\(output)")
    #expect(readBytes(String(output.dropLast())) == readBytes(directory.path + "/2.png"))
  }

  @Test func `a file is shown as what its URL leads to`() throws {
    let file = directory.path + "/4.png"
    let url = stage.origin.url("/4.png")
    stage.origin.plan("/4.png", .picture(readBytes(file) ?? []))
    let shown = try imgctl("show", file, "--protocol", "kitty")
    #expect(try shown.code == 0 && shown.output == imgctl("show", url, "--protocol", "kitty").output)
  }

  @Test func `what was put is fetched, and the origin is not asked`() throws {
    let url = stage.origin.url("/mine.png")
    let (code, output) = try imgctl("put", url, directory.path + "/0.png", "--ttl", "1h")
    #expect(code == 0 && output.hasPrefix("png 300x200, "), "\(output)")
    let file = directory.path + "/back.png"
    #expect(try imgctl("fetch", url, "--cache", "only-if-cached", "-o", file).code == 0)
    #expect(readBytes(file) == readBytes(directory.path + "/0.png"))
    #expect(stage.origin.requests("/mine.png").isEmpty)
  }

  @Test(arguments: ["/dev/null", "/dev/zero", "/proc/self/maps", "DIRECTORY", "FIFO"])
  func `what is no picture in a file is refused`(path: String) throws {
    let fifo = directory.path + "/fifo"
    mkfifo(fifo, 0o600)
    let place = path == "FIFO" ? fifo : path == "DIRECTORY" ? directory.path + "/cache" : path
    if path == "DIRECTORY" { mkdir(place, 0o700) }
    #expect(try imgctl("fetch", place, "--as", "none").code != 0)
    #expect(try imgctl("fetch", directory.path + "/0.png", "--as", "none").code == 0)
  }
}
