import Glibc
import ImgdTestSupport
import Testing

/// Targets as imgproxy's libraries write them: signed with a key and a salt, in each spelling that they have for a URL.
struct ImgproxyTargetTests {
  private static let key = "943b421c9eb07c830af81030552c86009268de4e532ba2ee2eab8247c6da0881"
  private static let salt = "520f986b998545b4785e0defbc4f3c1203f22de2374a3d53cb7a7fe9fea309c5"

  /// What is asked of 120 by 80 pixels, and the size that imgproxy's rules give.
  private static let cases: [(options: String, width: Int, height: Int)] = [
    ("rs:fit:60:60", 60, 40),
    ("rs:fill:60:60", 60, 60),
    ("rs:fill-down:60:60", 60, 60),
    ("rs:fill-down:240:240", 80, 80),
    ("rs:fill-down:300:100", 120, 40),
    ("rs:force:50:70", 50, 70),
    ("rs:auto:60:30", 60, 30),
    ("rs:auto:30:60", 30, 20),
    ("rs:fit:300:300", 120, 80),
    ("rs:fit:300:300:1", 300, 200),
    ("rs:fill:300:300:1", 300, 300),
    ("rs:fill:100:300", 100, 80),
    ("rs:fit:60:60:0:1", 60, 60),
    ("rs:fit:300:200:0:1:ce:0:0", 300, 200),
    ("rs:fill:50", 50, 33),
    ("rs::50", 50, 33),
    ("rs:fit:0:50", 75, 50),
    ("s:60:60", 60, 40),
    ("s:60", 60, 40),
    ("s::50", 75, 50),
    ("rt:fill/w:30/h:50", 30, 50),
    ("w:70", 70, 47),
    ("h:30/w:0", 45, 30),
    ("w:33/h:33/el:1", 33, 22),
    ("w:20/rs:fit:40:0", 40, 27),
    ("rs:fill:40:40/w:20", 20, 40),
    ("w:30/dpr:2", 60, 40),
    ("rs:fill:30:30/dpr:2", 60, 60),
    ("rs:fill:60:60/dpr:2", 80, 80),
    ("w:30/dpr:0.5", 15, 10),
    ("z:0.5", 60, 40),
    ("z:2", 120, 80),
    ("z:1.5/el:1", 180, 120),
    ("w:40/z:2", 80, 53),
    ("w:60/h:60/ex:1/bg:255:128:0", 60, 60),
    ("mw:200", 200, 133),
    ("mh:100", 150, 100),
    ("w:50/mw:90", 50, 60),
    ("w:60/h:60/mh:60", 60, 60),
    ("mw:60", 120, 80),
    ("c:50:40", 50, 40),
    ("c:50:40:nowe:10:20", 50, 40),
    ("c:0.5:0.5:soea", 60, 40),
    ("c:50:0:ea", 50, 80),
    ("c:60:60:sm/w:30", 30, 30),
    ("c:300:40:fp:0.4:0.3", 120, 40),
    ("c:0.5:0/g:we/rs:fill:20:20", 20, 20),
    ("pd:10", 140, 100),
    ("w:60/pd:1:2:3:4/bg:ff8000", 66, 44),
    ("w:30/pd:5:10/dpr:2", 100, 60),
    ("rot:90", 80, 120),
    ("rot:270/rs:fit:60:60", 40, 60),
    ("rot:180/w:30", 30, 20),
    ("rot:90/c:40:60/rs:fill:20:50", 20, 50),
    ("rs:fill:40:50/g:ce", 40, 50),
    ("rs:fill:40:50/g:no", 40, 50),
    ("rs:fill:40:50/g:so", 40, 50),
    ("rs:fill:40:50/g:ea", 40, 50),
    ("rs:fill:40:50/g:we", 40, 50),
    ("rs:fill:40:50/g:noea", 40, 50),
    ("rs:fill:40:50/g:nowe", 40, 50),
    ("rs:fill:40:50/g:soea", 40, 50),
    ("rs:fill:40:50/g:sowe", 40, 50),
    ("rs:fill:40:50/g:sm", 40, 50),
    ("rs:fill:40:50/g:fp:0.4:0.3", 40, 50),
    ("sm:1/ar:1/scp:1/kcr:0/cb:v1/w:60", 60, 40),
    ("q:80/fq:png:70:webp:60/w:60/fn:cat/att:1/exp:4102444800", 60, 40),
    ("mb:900/w:60", 60, 40),
    ("pr:sharp/w:60", 45, 30),
  ]

  /// Writes a target for each line of options in each of four spellings: the URL in base64, as it is, in base64 cut by
  /// slashes, and in base64 with a format.
  private static let signer = """
    import base64, hashlib, hmac, sys
    key, salt, url = bytes.fromhex(sys.argv[1]), bytes.fromhex(sys.argv[2]), sys.argv[3]
    encode = lambda some: base64.urlsafe_b64encode(some).decode().rstrip("=")
    whole = encode(url.encode())
    cut = "/".join(whole[place : place + 16] for place in range(0, len(whole), 16))
    for options in sys.argv[4:]:
        for source in (whole, "plain/" + url, cut, whole + ".png"):
            path = "/" + options + "/" + source
            print("/" + encode(hmac.digest(key, salt + path.encode(), hashlib.sha256)) + path)
    """

  private let stage: GatewayStage
  private let directory = TemporaryDirectory()

  init() throws {
    let file = directory.path + "/http.key"
    try write("imgproxy:\(Self.key):\(Self.salt)\n", to: file)
    chmod(file, 0o600)
    stage = try GatewayStage(["KeyFile=\(file)", "Presets=sharp:300x30"])
    stage.origin.plan(
      "/a.png", .picture(TestPicture.png(.gradient(width: 120, height: 80)), type: "image/png"))
  }

  private func targets(_ options: [String]) throws -> [String] {
    let (code, output) = try ChildProcess.run(
      "/usr/bin/python3", ["-c", Self.signer, Self.key, Self.salt, stage.url("/a.png")] + options)
    try #require(code == 0, "\(output)")
    return output.split(separator: "\n").map(String.init)
  }

  /// The size in the header of a PNG.
  private func size(_ file: [UInt8]) -> (width: Int, height: Int) {
    guard file.count > 24 else { return (0, 0) }
    func number(_ start: Int) -> Int { file[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
    return (number(16), number(20))
  }

  @Test func `each is answered with a picture of the size that imgproxy gives it`() throws {
    let targets = try targets(Self.cases.map { $0.options })
    #expect(targets.count == 4 * Self.cases.count && targets.count >= 200)
    for (place, target) in targets.enumerated() {
      let wanted = Self.cases[place / 4]
      let answer = try stage.gateway.get(target)
      try #require(answer.status == 200, "\(wanted.options): \(answer.text)")
      let (width, height) = size(answer.body)
      #expect(
        abs(width - wanted.width) <= 1 && abs(height - wanted.height) <= 1,
        "\(target): \(width)x\(height), not \(wanted.width)x\(wanted.height)")
    }
  }

  @Test func `a changed target is not taken`() throws {
    for target in try targets(["w:60"]) {
      let answer = try stage.gateway.get(target.replacing("w:60", with: "w:61"))
      #expect(answer.status == 403 && answer.code == "bad_signature")
    }
  }
}
