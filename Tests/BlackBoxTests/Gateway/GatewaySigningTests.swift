import Glibc
import ImgdTestSupport
import Testing

/// The programs of docs/web.md that sign targets: the gateway takes what they make.
struct GatewaySigningTests {
  private let stage: GatewayRecipeStage

  init() throws {
    stage = try GatewayRecipeStage()
  }

  /// Expects that a target brings a picture, and that it would not with another signature.
  private func expect(taken target: String) throws {
    #expect(try stage.gateway.get(target).status == 200, "\(target)")
    let forged = target.replacing("300", with: "301")
    #expect(forged != target)
    let answer = try stage.gateway.get(forged)
    #expect(answer.status == 403 && answer.code == "bad_signature", "\(forged)")
  }

  @Test func `nothing is taken without a signature`() throws {
    #expect(try stage.gateway.fetch(stage.url).code == "not_allowed")
  }

  @Test func `a shell signs`() throws {
    let block = try #require(stage.blocks("sh", "Signatures").first { $0.contains("-hmac") })
    let (code, output) = try stage.run("sh", "-c", block)
    #expect(code == 0)
    try expect(taken: String(output.dropLast()))
  }

  @Test func `Python signs both forms`() throws {
    let (code, output) = try stage.run("python3", "-c", try stage.block("python", "Signatures"))
    let targets = output.split(separator: "\n").map(String.init)
    try #require(code == 0 && targets.count == 2, "\(output)")
    for target in targets { try expect(taken: target) }
  }

  /// The parts of Django that the recipe uses.
  private static let django = """
    import pathlib, sys, types
    class Library:
        def simple_tag(self, function): return function
    settings = types.SimpleNamespace(IMGD_KEY=pathlib.Path(sys.argv[1]).read_bytes().split()[0])
    django = types.ModuleType("django")
    django.template = types.SimpleNamespace(Library=Library)
    conf = types.ModuleType("django.conf")
    conf.settings = settings
    sys.modules.update({"django": django, "django.conf": conf})

    """

  @Test func `a tag of Django signs`() throws {
    let program =
      Self.django + (try stage.block("python", "Django"))
      + "print(picture('\(stage.url)', width=300, height=200, fit='cover'))\n"
    let (code, output) = try stage.run(
      "python3", "-c", program, stage.directory.path + "/http.key")
    try #require(code == 0, "\(output)")
    try expect(taken: String(output.dropLast()))
  }

  @Test(.enabled(if: access("/usr/bin/node", X_OK) == 0))
  func `a function of Express signs`() throws {
    let program =
      "const app = { locals: {} };\n" + (try stage.block("js", "Express"))
      + "console.log(app.locals.picture('\(stage.url)', { width: 300, height: 200, fit: 'cover' }));\n"
    try write(program, to: stage.directory.path + "/sign.js")
    let (code, output) = try stage.run("node", "sign.js")
    try #require(code == 0, "\(output)")
    try expect(taken: String(output.dropLast()))
  }
}
