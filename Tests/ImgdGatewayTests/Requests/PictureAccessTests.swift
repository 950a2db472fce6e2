import Testing

@testable import ImgdGateway

struct PictureAccessTests {
  private static let target = "/fetch?url=https%3A%2F%2Fpictures.example%2Fcat.jpg"
  private let keys: SigningKeys
  private let presets: [Preset]

  init() throws {
    keys = try SigningKeys(lines: Array("0123456789abcdef".utf8))
    presets = [try Preset(parsing: "thumb:300x200")]
  }

  private func access(_ allow: [String] = [], signed: Bool = true, onlyPresets: Bool = false)
    -> PictureAccess
  {
    PictureAccess(
      allow: allow, keys: signed ? keys : .none, presets: presets, onlyPresets: onlyPresets)
  }

  private func code(_ access: PictureAccess, _ target: String, now: Int = 1_000) throws -> String? {
    let parsed = try #require(try PictureTarget.parse(target))
    do throws(GatewayError) {
      _ = try access.admit(parsed, now: now)
      return nil
    } catch {
      #expect(
        (error.status == 403) == ["not_allowed", "bad_signature", "expired"].contains(error.code))
      #expect(!error.message.isEmpty && !error.isRetryable)
      return error.code
    }
  }

  private func signed(_ target: String) -> String { target + "&signature=" + keys.sign(target) }

  @Test func `nothing is open without a host and a key`() throws {
    #expect(try code(access(signed: false), Self.target) == "not_allowed")
    #expect(try code(access(), Self.target) == "not_allowed")
    #expect(try code(access(["other.example"]), Self.target) == "not_allowed")
    #expect(try code(access(["example"]), Self.target) == nil)
  }

  @Test func `the refusal names the host and the keys`() throws {
    let parsed = try #require(try PictureTarget.parse(Self.target))
    let error = #expect(throws: GatewayError.self) { try access().admit(parsed, now: 0) }
    for word in ["pictures.example", "Allow=", "KeyFile="] {
      #expect(error?.message.contains(word) == true)
    }
  }

  @Test func `a right signature opens any host`() throws {
    let path = "/w:3/plain/https://pictures.example/cat.jpg?x"
    #expect(try code(access(), signed(Self.target + "&width=3")) == nil)
    #expect(try code(access(), "/" + keys.sign(path) + path) == nil)
    #expect(try code(access(), signed(Self.target) + "%3D") == nil)
  }

  @Test func `a wrong signature opens nothing`() throws {
    let target = signed(Self.target)
    for access in [access(["*"]), access(["*"], signed: false), access()] {
      #expect(try code(access, Self.target + "&signature=x") == "bad_signature")
      #expect(try code(access, "/x/plain/https://pictures.example/cat.jpg") == "bad_signature")
    }
    #expect(try code(access(signed: false), target) == "bad_signature")
    let other = target.replacing("cat", with: "dog")
    #expect(try code(access(["*"]), other) == "bad_signature")
    let path = "/w:3/plain/https://pictures.example/cat.jpg"
    #expect(try code(access(), "/" + keys.sign("/w:3/plain/x") + path) == "bad_signature")
    // An escape of the same letter is another target.
    #expect(try code(access(), target.replacing("cat", with: "c%61t")) == "bad_signature")
  }

  @Test func `words that stand for no signature do not open a host`() throws {
    for word in ["insecure", "unsafe", "_"] {
      let target = "/\(word)/plain/https://pictures.example/cat.jpg"
      #expect(try code(access(), target) == "not_allowed")
      #expect(try code(access(["pictures.example"]), target) == nil)
    }
  }

  @Test func `a target expires after its last second`() throws {
    let target = Self.target + "&expires=1000"
    for target in [target, signed(target)] {
      #expect(try code(access(["*"]), target, now: 1_000) == nil)
      #expect(try code(access(["*"]), target, now: 1_001) == "expired")
    }
    #expect(try code(access(["*"]), "/exp:999/plain/https://pictures.example") == "expired")
    #expect(try code(access(["*"]), Self.target + "&expires=\(Int.max)", now: .max) == nil)
    // Whether it would have been open is not told by its expiry.
    #expect(try code(access(), target, now: 1_001) == "not_allowed")
  }

  @Test(arguments: [
    "", "&preset=thumb&width=3", "&preset=thumb&height=3", "&preset=thumb&fit=contain",
    "&preset=thumb&crop=centre", "&preset=thumb&enlarge=false", "&preset=thumb&format=original",
    "&preset=thumb&quality=3", "&preset=thumb&dpr=1", "&width=3",
  ])
  func `with presets alone nothing else is taken`(parameters: String) throws {
    let access = access(["*"], onlyPresets: true)
    #expect(try code(access, Self.target + parameters) == "not_allowed")
    #expect(try code(access, signed(Self.target + parameters)) == "not_allowed")
  }

  @Test func `with presets alone a known preset is taken`() throws {
    let access = access(["*"], onlyPresets: true)
    #expect(try code(access, Self.target + "&preset=thumb&expires=2000") == nil)
    #expect(try code(access, "/pr:thumb:thumb/plain/https://pictures.example") == "not_allowed")
    #expect(try code(access, "/pr:thumb/pr:thumb/plain/https://pictures.example") == "not_allowed")
    #expect(try code(access, "/pr:thumb/w:0/plain/https://pictures.example") == "not_allowed")
    #expect(try code(access, "/pr:thumb/cb:1/plain/https://pictures.example") == nil)
    #expect(try code(access, Self.target + "&preset=other") == "bad_request")
    #expect(try code(access, "/pr:thumb/plain/https://pictures.example@png") == "not_allowed")
  }
}
