import Glibc
import ImgdSystem
import ImgdTestSupport
import ImgdTransfer
import Testing

@testable import ImgdDaemon
@testable import ImgdProgram

/// The keys of a section `[Origin s3://bucket]`, and the file of its credentials.
struct BucketKeyTests {
  private let directory = TemporaryDirectory()

  private var path: String { directory.path + "/keys" }
  private var file: String { directory.path + "/imgd.conf" }

  /// A new file takes the place of an old one, so that it is another one at the same moment.
  private func leave(_ secret: String = "b", mode: mode_t = 0o600) throws {
    try write("[default]\naws_access_key_id = a\naws_secret_access_key = \(secret)\n", to: path + ".new")
    chmod(path + ".new", mode)
    rename(path + ".new", path)
  }

  private func read(_ lines: String..., environment: [String: String] = [:], checks: Bool = false) throws
    -> Configuration
  {
    try write(lines.joined(separator: "\n"), to: file)
    let options = try CommandLineOptions.parse(["--config", file] + (checks ? ["--check-config"] : []))
    return try ConfigurationLoader.load(options, environment: environment, uid: 0, systemFile: "/nowhere")
  }

  /// What is wrong with a section, without the name of the file.
  private func complaint(_ lines: String..., checks: Bool = false) -> String? {
    do {
      _ = try read(lines.joined(separator: "\n"), checks: checks)
      return nil
    } catch {
      let text = "\(error)"
      return text.hasPrefix(file + ":") ? String(text.dropFirst(file.utf8.count + 1)) : text
    }
  }

  @Test func `a section is read, and printed as it is read`() throws {
    try leave()
    let configuration = try read(
      "[Origin s3://pics]", "CredentialsFile=\(path)", "Endpoint=https://Minio.example:443/", "Region=eu-central-1")
    let origin = try #require(configuration.origins[OriginPattern("s3://pics")])
    #expect(origin.credentials?.value == SigningCredentials(accessKey: "a", secret: "b"))
    let printed = configuration.entries.filter { $0.section == "Origin s3://pics" && !$0.value.isEmpty }
    #expect(
      printed.map { "\($0.key)=\($0.value)" }
        == ["CredentialsFile=\(path)", "Endpoint=https://minio.example", "Region=eu-central-1"])
    #expect(try read(configuration.printed()) == configuration)
    #expect(!configuration.printed().contains("aws"))
  }

  @Test func `a plain name is a credential of the service`() throws {
    try leave(mode: 0o400)
    let lines = ["[Origin s3://pics]", "CredentialsFile=keys"].joined(separator: "\n")
    let environment = ["CREDENTIALS_DIRECTORY": directory.path]
    #expect(try read(lines, environment: environment).origins.values.first?.credentials != nil)
    #expect(complaint(lines)?.contains("write LoadCredential=keys:/path/of/the/file in its unit") == true)
    #expect(complaint(lines, checks: true) == nil)
  }

  @Test(arguments: [
    ("Endpoint=minio:9000", "Endpoint=minio:9000 is not an endpoint: write http://host or https://host, with or"),
    ("Endpoint=http://h/path", "Endpoint=http://h/path is not an endpoint"), ("Region=EU", "Region=EU is not a region"),
    ("Endpoint=http://me:s3cr3t@h", "is not an endpoint"), ("CredentialsFile=a/b", "is neither an absolute path"),
  ])
  func `a wrong value is named with what would be right`(line: String, expected: String) throws {
    try leave()
    let words = try #require(complaint("[Origin s3://pics]", "CredentialsFile=\(path)", line))
    #expect(words.hasPrefix("3: ") && words.contains(expected) && !words.contains("s3cr3t"), "\(words)")
  }

  @Test func `what does not fit together is named with its place`() throws {
    try leave()
    #expect(
      complaint("[Memory]", "[Origin s3://pics]", "Region=eu-west-1")
        == "2: [Origin s3://pics] has no CredentialsFile: name a file with the keys that sign requests for the bucket")
    for line in ["CredentialsFile=\(path)", "Endpoint=http://h", "Region=eu-west-1"] {
      let key = line.prefix { $0 != "=" }
      #expect(
        complaint("[Origin example.org]", line)
          == "2: Origin example.org.\(key) is for a bucket: write it in a section [Origin s3://bucket]")
    }
    #expect(
      complaint("[Origin example.org]", "Fallback=s3://pics{path}")
        == "2: Origin example.org.Fallback=s3://pics{path} needs a section [Origin s3://pics]")
    #expect(
      complaint(
        "[Origin example.org]", "Fallback=s3://pics{path}", "[Origin s3://pics]", "CredentialsFile=\(path)") == nil)
    #expect(
      complaint("[Origin s3://Pics]", "Region=x")
        == "1: [Origin s3://Pics] is not s3://bucket: the name of a bucket has lower-case letters, digits, hyphens and "
        + "dots, and nothing else")
  }

  // MARK: The file

  @Test func `a file that is missing, wrong or open to others is a mistake with file and line`() throws {
    let section = "[Origin s3://pics]\nCredentialsFile=\(path)"
    let key = "2: Origin s3://pics.CredentialsFile=\(path)"
    #expect(complaint(section) == "\(key) cannot be read: No such file or directory")
    try write("[default]\naws_access_key_id = a s3cr3t\n", to: path)
    chmod(path, 0o600)
    #expect(complaint(section)?.hasPrefix("\(key):2: the value of aws_access_key_id has a blank") == true)
    for mode: mode_t in [0o644, 0o601] {
      try leave(mode: mode)
      let words = complaint(section)
      #expect(words?.hasPrefix("\(key) is open to every user (mode 0\(String(mode, radix: 8)))") == true)
      #expect(complaint(section, checks: true) == words)
    }
    try leave(mode: 0o640)
    #expect(complaint(section, checks: true) == nil)
  }

  @Test func `it is read again when it changes, and a wrong one changes nothing`() throws {
    try leave("1")
    try write("[Origin s3://pics]\nCredentialsFile=\(path)\n", to: file)
    let source = ConfigurationSource(options: try CommandLineOptions.parse(["--config", file]), environment: [:])
    let clock = LoopClock.manual()
    let loop = try EventLoop(clock: clock)
    let reloader = try Reloader(source: source, read: try source.load { _ in }, loop: loop)
    #expect(source.files(of: reloader.current).contains { $0.path == path && $0.isSecret })
    // So that the look at the file alone can bring what it has.
    try write("[Nonsense]\n", to: file)
    let look = {
      reloader.lookAtFiles(clock, loop)
      return reloader.current.origins.values.first?.credentials?.value
    }
    try leave("2")
    #expect(look() == SigningCredentials(accessKey: "a", secret: "2"))
    try leave("3", mode: 0o644)
    #expect(look() == SigningCredentials(accessKey: "a", secret: "2"))
    try leave("4")
    #expect(look() == SigningCredentials(accessKey: "a", secret: "4"))
    reloader.stop()
    loop.close()
  }
}
