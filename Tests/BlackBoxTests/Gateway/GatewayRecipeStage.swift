import Glibc
import ImgdTestSupport
import Testing

/// A gateway and an origin for the programs of docs/web.md, in a directory of their own.
final class GatewayRecipeStage {
  static let cat = TestPicture.jpeg(width: 640, height: 480)
  static let key = "0123456789abcdef0123456789abcdef"

  let stage: GatewayStage
  let directory = TemporaryDirectory()
  private let page: DocumentPage

  /// The settings are those of `[HTTP-Gateway]`, besides the key.
  init(_ settings: String...) throws {
    page = try DocumentPage("web.md")
    let file = directory.path + "/http.key"
    try write(Self.key + "\n", to: file)
    chmod(file, 0o600)
    stage = try GatewayStage(["KeyFile=\(file)"] + settings)
    stage.origin.plan("/cat.jpg", .picture(Self.cat, type: "image/jpeg"))
  }

  var gateway: GatewayProcess { stage.gateway }
  /// The picture's URL at the origin.
  var url: String { stage.url("/cat.jpg") }
  /// The same as a value of a query.
  var escapedURL: String { url.replacing(":", with: "%3A").replacing("/", with: "%2F") }

  /// The blocks of a language below a heading, with this test's places and its picture.
  func blocks(_ language: String, _ heading: String) -> [String] {
    page.blocks(language, under: heading).map { block in
      var text = block.replacing("/run/imgd/http.sock", with: gateway.socket)
        .replacing("/etc/imgd/http.key", with: directory.path + "/http.key")
      for host in ["pictures.example", "example.org"] {
        for name in ["cat", "a"] {
          text = text.replacing("https://\(host)/\(name).jpg", with: url)
            .replacing("https%3A%2F%2F\(host)%2F\(name).jpg", with: escapedURL)
        }
      }
      return text
    }
  }

  /// The only block of a language below a heading.
  func block(_ language: String, _ heading: String) throws -> String {
    let all = blocks(language, heading)
    try #require(all.count == 1, "\(heading): \(all.count)")
    return all[0]
  }

  /// Runs a program in the directory.
  func run(_ program: String, _ arguments: String...) throws -> (code: CInt, output: String) {
    try ChildProcess.run(
      "/usr/bin/env", ["-C", directory.path, program] + arguments,
      environment: ["PATH=/usr/bin:/bin", "HOME=\(directory.path)"])
  }

  /// A file in the directory.
  func file(_ name: String) -> [UInt8]? { readBytes(directory.path + "/" + name) }
}
