import Glibc
import ImgdProgram
import ImgdTestSupport
import Testing

@testable import ImgdGateway

struct SigningKeysTests {
  private static let first = "0123456789abcdef0123456789abcdef"
  private static let second = "fedcba9876543210"
  private static let query = "/fetch?url=https%3A%2F%2Fpictures.example%2Fcat.jpg&width=300"
  private static let path = "/rs:fit:300:200/plain/https://pictures.example/cat.jpg@webp"

  private func keys(_ text: String) throws -> SigningKeys {
    try SigningKeys(lines: Array(text.utf8))
  }

  /// As `openssl dgst -sha256 -hmac` and the module `hmac` of Python have them.
  @Test(arguments: [
    (first, query, "-F6fwQv7c8JHcTw9CJJCD_PYsaW2Swke9VFdAQ4WZaM"),
    (first, path, "YBruPwjsyNdchDbDwDcuwRyBViBWUEF6L_IuuMXWtjM"),
    (second, query, "WSD9jUhpPmdOpy5BBQUAoPm1eijA1iFq97eKa-vIHaY"),
    (second, path, "nQOXYCj7pSVVX1erMtnOW75uma7asbQfFPZmt4v4WqI"),
  ])
  func `signatures are those of other programs`(key: String, text: String, signature: String) throws {
    #expect(try keys(key).sign(text) == signature)
    for lines in [key, "# old\n\n\(Self.first)\n \(Self.second) \r\n"] {
      #expect(try keys(lines).verifies(signature, of: text))
      #expect(try keys(lines).verifies(signature + "=", of: text))
    }
  }

  @Test func `another signature is not right`() throws {
    let keys = try keys(Self.first)
    let right = keys.sign(Self.query)
    for place in right.utf8.indices {
      var bytes = Array(right.utf8)
      bytes[right.utf8.distance(from: right.startIndex, to: place)] ^= 1
      #expect(!keys.verifies(String(decoding: bytes, as: UTF8.self), of: Self.query))
      #expect(!keys.verifies(String(right[..<place]), of: Self.query))
    }
    #expect(!keys.verifies(right + "==", of: Self.query) && !keys.verifies(right, of: Self.path))
    #expect(!SigningKeys.none.verifies(right, of: Self.query))
    #expect(try !self.keys(Self.second).verifies(right, of: Self.query))
  }

  /// As `openssl dgst -sha256 -mac HMAC -macopt hexkey:` has them, of the salt "hello" and the path.
  @Test(arguments: [
    ("", "meYQcK_coUKMGgDgAD74hPUk9SmZBfh7E6hUQFUsGCg"), (":32", "meYQcK_coUKMGgDgAD74hPUk9SmZBfh7E6hUQFUsGCg"),
    (":8", "meYQcK_coUI"),
  ])
  func `keys of imgproxy have a salt and perhaps short signatures`(ending: String, signature: String) throws {
    let keys = try keys("imgproxy:30313233343536373839616263646566:68656C6C6F" + ending)
    #expect(keys.sign(Self.path) == signature && keys.verifies(signature, of: Self.path))
    #expect(!keys.verifies(String(signature.dropLast()), of: Self.path) && !keys.verifies("", of: Self.path))
    #expect(
      !keys.verifies(
        signature == "meYQcK_coUI" ? "meYQcK_coUKMGgDgAD74hPUk9SmZBfh7E6hUQFUsGCg" : "meYQcK_coUI", of: Self.path))
  }

  @Test(arguments: [
    "imgproxy:", "imgproxy:30313233343536373839616263646566", "imgproxy:30313233343536373839616263646566:",
    "imgproxy:3031323334353637383961626364656g:68", "imgproxy:30313233343536373839616263646566:686",
    "imgproxy:30313233343536373839616263646566:68:7", "imgproxy:30313233343536373839616263646566:68:33",
    "imgproxy:30313233343536373839616263646566:68:8:8", "imgproxy:30:68",
  ])
  func `a line of imgproxy that cannot be read is refused without its key`(line: String) {
    let problem = #expect(throws: SecretFileProblem.self) { try keys(Self.first + "\n" + line) }
    #expect(problem?.message.contains("key 2") == true && problem?.message.contains("3031") == false)
  }

  @Test(arguments: [
    ("", "0 keys"), ("# \(first)\n", "0 keys"), ("short", "key 1"),
    (first + "\n123456789012345", "15 bytes"),
    (String(repeating: first + "\n", count: 9), "9 keys"),
  ])
  func `a file has one to eight keys of sixteen bytes`(lines: String, part: String) {
    let problem = #expect(throws: SecretFileProblem.self) { try keys(lines) }
    #expect(problem?.message.contains(part) == true, "\(problem?.message ?? "")")
  }

  @Test func `a file that others can read is refused`() throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/keys"
    try write(Self.first + "\n", to: path)
    chmod(path, 0o640)
    #expect(try SigningKeys.read(path: path).sign(Self.query).hasPrefix("-F6fwQ"))
    chmod(path, 0o644)
    let open = #expect(throws: SecretFileProblem.self) { try SigningKeys.read(path: path) }
    #expect(
      open?.message.contains("HTTP-Gateway.KeyFile=\(path) is open to every user (mode 0644)")
        == true)
    let missing = #expect(throws: SecretFileProblem.self) { try SigningKeys.read(path: path + "x") }
    #expect(missing?.message.contains("cannot be read") == true)
  }

  @Test func `a very large file is no secret`() throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/keys"
    try write(String(repeating: "#", count: 64 * 1024 + 1), to: path)
    chmod(path, 0o600)
    let large = #expect(throws: SecretFileProblem.self) { try SigningKeys.read(path: path) }
    #expect(large?.message.contains("more than 65536 bytes") == true)
  }

  private func write(_ text: String, to path: String) throws {
    let file = try #require(fopen(path, "w"))
    defer { fclose(file) }
    #expect(fputs(text, file) >= 0)
  }
}
