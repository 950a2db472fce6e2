import Glibc
import ImgdTestSupport
import Testing

/// The programs of docs/web.md, run as they stand there.
struct GatewayRecipeTests {
  private let stage: GatewayRecipeStage

  init() throws {
    stage = try GatewayRecipeStage("Allow=127.0.0.1")
  }

  @Test func `the first example fetches a thumbnail`() throws {
    let shown = try stage.block("sh", "Pictures over HTTP")
    #expect(try stage.run("sh", "-c", shown.dropLast() + " -so a.jpg").output == "")
    #expect(stage.file("a.jpg")?.starts(with: [0xff, 0xd8]) == true)
    #expect(stage.file("a.jpg") != GatewayRecipeStage.cat)
  }

  @Test func `a script converts, asks whether a picture is new, and takes a part`() throws {
    let (code, output) = try stage.run("sh", "-c", try stage.block("sh", "curl and scripts"))
    #expect(code == 0 && output == "304\n1024\n", "\(output)")
    #expect(stage.file("a.webp").map { Array($0[8..<12]) } == Array("WEBP".utf8))
    #expect(stage.file("a.jpg") == GatewayRecipeStage.cat)
    #expect(stage.file("new.jpg") ?? [] == [])
  }

  @Test func `every target of the page's elements brings its format`() throws {
    let targets = stage.blocks("html", "In pages").flatMap { block in
      block.split(separator: "/fetch?").dropFirst().map { rest in
        "/fetch?" + rest.prefix { !"\", ".contains($0) }.replacing("&amp;", with: "&")
      }
    }
    #expect(targets.count == 6)
    for target in targets {
      let answer = try stage.gateway.get(target, ["Accept: image/webp"])
      let formats = ["avif", "webp"].filter { target.contains("format=\($0)") }
      let format = formats.first ?? (target.contains("format=auto") ? "webp" : "jpeg")
      #expect(answer.status == 200 && answer["content-type"] == "image/\(format)", "\(target)")
    }
  }
}

/// nginx before the gateway, by the configuration of docs/web.md.
@Suite(.enabled(if: access("/usr/sbin/nginx", X_OK) == 0 && geteuid() == 0))
struct GatewayProxyTests {
  private let stage: GatewayRecipeStage
  private let nginx: NginxProcess

  init() throws {
    let stage = try GatewayRecipeStage("Allow=127.0.0.1", "MaxPerAddress=1")
    let configuration = try stage.block("nginx", "Behind nginx")
    try #require(configuration.contains("listen 443 ssl;"))
    nginx = try NginxProcess(in: stage.directory.path) { address in
      configuration.replacing("listen 443 ssl;", with: "listen \(address);")
    }
    self.stage = stage
  }

  /// The status, the header fields and the body of an answer through nginx.
  private func get(
    _ target: String, _ arguments: String...
  ) throws -> (status: String, head: String, body: [UInt8]) {
    let url = "http://" + nginx.address + target
    let (code, status) = try ChildProcess.run(
      "/usr/bin/curl",
      ["-sS", "--path-as-is", "--max-time", "60", "-w", "%{http_code}"] + arguments
        + ["-D", stage.directory.path + "/head", "-o", stage.directory.path + "/body", url])
    #expect(code == 0, "\(status) \(nginx.complaints)")
    let head = String(decoding: stage.file("head") ?? [], as: UTF8.self)
    return (status, head.lowercased(), stage.file("body") ?? [])
  }

  private var target: String { "/fetch?url=" + stage.escapedURL }

  @Test func `a picture comes through nginx, whole, in part and not again`() throws {
    let whole = try get(target)
    #expect(whole.status == "200" && whole.body == GatewayRecipeStage.cat)
    #expect(whole.head.contains("content-type: image/jpeg") && whole.head.contains("server: nginx"))
    for field in ["cache-control: public", "age: ", "x-content-type-options: nosniff"] {
      #expect(whole.head.contains("\r\n" + field), "\(field) \(whole.head)")
    }
    let tag = try #require(try stage.gateway.get(target)["etag"])
    #expect(whole.head.contains("etag: \(tag)"))
    #expect(try get(target, "-H", "If-None-Match: \(tag)").status == "304")
    let part = try get(target, "-r", "100-199")
    #expect(part.status == "206" && part.body == Array(GatewayRecipeStage.cat[100..<200]))
    #expect(stage.stage.origin.count("/cat.jpg") == 1)
  }

  @Test func `a path and its signature come through nginx unchanged`() throws {
    let signed = "/rs:fill:30:20/plain/\(stage.url)@webp"
    for signature in ["", "/insecure"] {
      #expect(try get(signature + signed).head.contains("content-type: image/webp"))
    }
    let made = try stage.run(
      "sh", "-c",
      "printf %s '\(signed)' | openssl dgst -sha256 -hmac \(GatewayRecipeStage.key) -binary"
        + " | basenc --base64url -w 0")
    #expect(try get("/\(made.output)\(signed)").status == "200")
    #expect(try get("/\(String(made.output.reversed()))\(signed)").status == "403")
  }

  @Test func `a URL in base64 comes through nginx`() throws {
    let url = try stage.run("sh", "-c", "printf %s '\(stage.url)' | basenc --base64url -w 0 | tr -d =").output
    for form in ["_/", "insecure/", "w:30/", "_/rs:fit:30:20/el:1/"] {
      let path = "/\(form)\(url.prefix(16))/\(url.dropFirst(16)).webp"
      let answer = try get(path)
      #expect(answer.status == "200" && answer.head.contains("content-type: image/"), "\(path): \(answer.status)")
    }
  }

  @Test func `what is no picture stays inside`() throws {
    for path in ["/", "/metrics", "/health", "/events", "/entries", "/x/../metrics", "//metrics"] {
      let answer = try get(path)
      #expect(answer.status == "404", "\(path): \(answer.status)")
    }
    // These a location lets through; the gateway sees what it is.
    for path in ["/metrics/../plain/x", "/%66etch"] {
      let answer = try get(path)
      #expect(["400", "404"].contains(answer.status), "\(path): \(answer.status)")
      #expect(!String(decoding: answer.body, as: UTF8.self).contains("imgd_http"))
    }
  }

  @Test func `the address that nginx names is believed`() throws {
    let gate = Gate()
    stage.stage.origin.plan("/slow.jpg", .held(at: gate, then: .picture(GatewayRecipeStage.cat)))
    let slow = "/fetch?url=" + stage.stage.url("/slow.jpg")
    let waiting = try ChildProcess.spawn(
      "/usr/bin/curl", ["-sSf", "--max-time", "60", "http://" + nginx.address + slow])
    #expect(gate.waitUntilReached())
    // One at a time, whatever the client itself says; programs of this machine do not count.
    #expect(try get(target, "-H", "X-Forwarded-For: 192.0.2.1").status == "429")
    #expect(try stage.gateway.get(target).status == 200)
    gate.open()
    #expect(ChildProcess.wait(waiting) == 0)
    #expect(try get(target).status == "200")
  }
}
