import Glibc
import Testing

@testable import ImgdProgram
@testable import ImgdDaemon

/// A directory with a few files, gone with its owner.
private final class Files {
  let path: String
  private var made: [String] = []

  init(_ files: [String: String] = [:]) throws {
    var template = Array("/tmp/imgd-configuration-XXXXXX".utf8CString)
    path = String(cString: try #require(mkdtemp(&template)))
    for (name, text) in files { try write(name, Array(text.utf8)) }
  }

  deinit {
    for made in made.reversed() { remove(made) }
    remove(path)
  }

  func write(_ name: String, _ bytes: [UInt8]) throws {
    let whole = "\(path)/\(name)"
    for (index, byte) in whole.utf8.enumerated() where byte == UInt8(ascii: "/") && index > 0 {
      let directory = String(decoding: whole.utf8.prefix(index), as: UTF8.self)
      if mkdir(directory, 0o700) == 0 { made.append(directory) }
    }
    made.append(whole)
    let file = try #require(fopen(whole, "w"))
    #expect(fwrite(bytes, 1, bytes.count, file) == bytes.count)
    fclose(file)
  }
}

struct ConfigurationLoaderTests {
  private func load(
    _ arguments: [String] = [], environment: [String: String] = [:], uid: UInt32 = 0,
    systemFile: String = "/nonexistent/imgd.conf"
  ) throws -> Configuration {
    try ConfigurationLoader.load(
      CommandLineOptions.parse(arguments), environment: environment, uid: uid,
      systemFile: systemFile)
  }

  private func problems(
    _ arguments: [String] = [], environment: [String: String] = [:],
    systemFile: String = "/nonexistent/imgd.conf"
  ) -> [String] {
    do {
      _ = try load(arguments, environment: environment, systemFile: systemFile)
      return []
    } catch {
      return (error as? ConfigurationProblems)?.lines ?? ["\(error)"]
    }
  }

  @Test(
    arguments: [(0, .own), (999, .own), (1_000, .all), (61_183, .all), (61_184, .own), (65_534, .all)]
      as [(UInt32, Whose)])
  func `a daemon of the system keeps its users apart, and one of a user's own does not`(
    uid: UInt32, whose: Whose
  ) throws {
    let control = try load(environment: ["HOME": "/home/a"], uid: uid).control
    #expect(control.see == whose && control.purge == whose && control.put == whose)
    #expect(control.share == .all)
  }

  @Test func `only the first of very many mistakes are named`() throws {
    let files = try Files([
      "imgd.conf": "[Memory]\n" + String(repeating: "nonsense\n", count: 10_000)
    ])
    let lines = problems(["--config", files.path + "/imgd.conf"])
    #expect(lines.count == 51)
    #expect(lines.first?.contains("imgd.conf:2:") == true)
    #expect(lines.last == "and 9950 more mistakes")
  }

  @Test func `mistakes are one line where there is room for one`() throws {
    let files = try Files(["one.conf": "[Memory]\nx\n", "two.conf": "[Memory]\nx\ny\n"])
    for (name, beginning) in [
      ("one", "\(files.path)/one.conf:2: 'x' is not"),
      ("two", "2 mistakes in the configuration, the first: \(files.path)/two.conf:2: 'x' is not"),
    ] {
      let summary = #expect(throws: ConfigurationProblems.self) {
        try load(["--config", "\(files.path)/\(name).conf"])
      }?.summary
      #expect(summary?.hasPrefix(beginning) == true, "\(summary ?? "")")
    }
  }

  /// The message goes into the journal and into a status that every user of the machine can read.
  @Test(arguments: [
    ("Proxy=http://ann:secret@proxy:99999", "Network.Proxy=http://…@proxy:99999 is not a proxy"),
    ("Proxy=ann:secret@proxy:3128", "Network.Proxy=…@proxy:3128 is not a proxy"),
    ("Proxy=http://ann:se/cr@secret@proxy", "Network.Proxy=http://…@proxy is not a proxy"),
    ("Proxy http://ann:secret@proxy:3128", "'Proxy http://…@proxy:3128' is not an assignment"),
    ("]\nProxy=ann:secret@proxy", "'Proxy=…@proxy' comes before any section"),
  ])
  func `no message holds a password`(line: String, wanted: String) throws {
    let files = try Files([
      "imgd.conf": line.hasPrefix("]") ? String(line.dropFirst()) : "[Network]\n\(line)\n"
    ])
    let said = problems(["--config", files.path + "/imgd.conf"])
    #expect(said.count == 1 && said.allSatisfy { $0.contains(wanted) }, "\(said)")
    #expect(said.allSatisfy { !$0.contains("secret") })
  }

  @Test func `the defaults hold without any setting`() throws {
    #expect(try load() == Configuration())
  }

  @Test func `the command line overrides the environment, which overrides the files`() throws {
    let files = try Files(["imgd.conf": "[Downloads]\nMaxActive=7\nMaxPerHost=7\nRetries=7\n"])
    let configuration = try load(
      ["--set", "Downloads.Retries=9"],
      environment: ["IMGD_DOWNLOADS_RETRIES": "8", "IMGD_DOWNLOADS_MAXPERHOST": "8"],
      systemFile: files.path + "/imgd.conf")
    #expect(configuration.downloads.maxActive == 7)
    #expect(configuration.downloads.maxPerHost == 8)
    #expect(configuration.downloads.retries == 9)
  }

  @Test func `drop-ins follow the file in the order of their names`() throws {
    let files = try Files([
      "imgd.conf": "[Downloads]\nMaxActive=1\nMaxPerHost=1\nRetries=1\n",
      "imgd.conf.d/20-b.conf": "[Downloads]\nMaxActive=3\n",
      "imgd.conf.d/10-a.conf": "[Downloads]\nMaxActive=2\nMaxPerHost=2\n",
      "imgd.conf.d/Z.conf": "[Downloads]\nMaxRedirects=1\n",
      "imgd.conf.d/a.conf": "[Downloads]\nMaxRedirects=2\n",
      "imgd.conf.d/30-c.conf~": "nonsense", "imgd.conf.d/.40.conf": "nonsense",
    ])
    let downloads = try load(systemFile: files.path + "/imgd.conf").downloads
    #expect(downloads.maxActive == 3)
    #expect(downloads.maxPerHost == 2)
    #expect(downloads.retries == 1)
    #expect(downloads.maxRedirects == 2)
  }

  @Test func `drop-ins need no main file`() throws {
    let files = try Files(["imgd.conf.d/a.conf": "[Memory]\nCapacity=1G\n"])
    #expect(try load(systemFile: files.path + "/imgd.conf").memory.capacity == 1 << 30)
  }

  @Test func `a named file replaces the usual one`() throws {
    let files = try Files([
      "imgd.conf": "[Downloads]\nRetries=7\n", "own": "[Downloads]\nMaxActive=7\n",
      "own.d/a.conf": "[Downloads]\nMaxPerHost=7\n",
    ])
    let downloads = try load(
      ["--config", files.path + "/own"], systemFile: files.path + "/imgd.conf"
    ).downloads
    #expect(downloads.retries == 2)
    #expect(downloads.maxActive == 7)
    #expect(downloads.maxPerHost == 7)
  }

  @Test func `a named file must exist`() throws {
    #expect(
      problems(["--config", "/nonexistent/x"]) == ["/nonexistent/x: the file does not exist"])
    let files = try Files()
    #expect(problems(["--config", files.path]) == ["read \(files.path): Is a directory"])
  }

  @Test func `the size of a file is limited`() throws {
    let files = try Files()
    let comment = [UInt8](repeating: UInt8(ascii: "#"), count: 1 << 20)
    try files.write("fits", comment)
    try files.write("long", comment + comment)
    #expect(problems(["--config", files.path + "/fits"]) == [])
    #expect(
      problems(["--config", files.path + "/long"]) == ["read \(files.path)/long: File too large"])
    #expect(problems(["--config", "/dev/zero"]) == ["read /dev/zero: File too large"])
  }

  @Test func `a user has a file and a socket of their own`() throws {
    let files = try Files([
      "config/imgd/imgd.conf": "[Downloads]\nRetries=7\n",
      "home/.config/imgd/imgd.conf": "[Downloads]\nRetries=8\n",
      "imgd.conf": "[Downloads]\nRetries=9\n",
    ])
    let home = files.path + "/home"
    let system = files.path + "/imgd.conf"
    func retries(_ environment: [String: String], uid: UInt32) throws -> Int {
      try load(environment: environment, uid: uid, systemFile: system).downloads.retries
    }
    let both = ["HOME": home, "XDG_CONFIG_HOME": files.path + "/config"]
    #expect(try retries(both, uid: 1000) == 7)
    #expect(try retries(["HOME": home], uid: 1000) == 8)
    #expect(try retries(["HOME": home, "XDG_CONFIG_HOME": "relative"], uid: 1000) == 8)
    #expect(try retries([:], uid: 1000) == 2)
    #expect(try retries(both, uid: 0) == 9)
    let made = files.path + "/config/imgd"
    for uid: UInt32 in [0, 1000] {
      #expect(try retries(["HOME": home, "CONFIGURATION_DIRECTORY": made], uid: uid) == 7)
      #expect(try retries(["HOME": home, "CONFIGURATION_DIRECTORY": made + ":/b"], uid: uid) == 7)
    }
    #expect(try retries(["HOME": home, "CONFIGURATION_DIRECTORY": "imgd"], uid: 1000) == 8)
  }

  @Test func `the machine's service has the machine's paths under a user of its own`() throws {
    let environment = [
      "CONFIGURATION_DIRECTORY": "/etc/imgd", "CACHE_DIRECTORY": "/var/cache/imgd",
      "XDG_RUNTIME_DIR": "/tmp/r",
    ]
    let configuration = try load(environment: environment, uid: 977)
    #expect(configuration.control.socket == "/run/imgd/imgd.sock")
    #expect(configuration.disk.directory == "/var/cache/imgd")
    let own = environment.merging(["CONFIGURATION_DIRECTORY": "/home/u/.config/imgd"]) { $1 }
    #expect(try load(environment: own, uid: 977).control.socket == "/tmp/r/imgd/imgd.sock")
  }

  @Test(
    arguments: [
      (0, ["XDG_RUNTIME_DIR": "/run/user/0"], "/run/imgd/imgd.sock"),
      (1000, ["XDG_RUNTIME_DIR": "/tmp/r"], "/tmp/r/imgd/imgd.sock"),
      (1000, ["XDG_RUNTIME_DIR": "r"], "/run/user/1000/imgd/imgd.sock"),
      (1000, [:], "/run/user/1000/imgd/imgd.sock"),
      (1000, ["IMGD_SOCKET": "/tmp/s"], "/tmp/s"),
      (0, ["IMGD_SOCKET": "/tmp/s", "IMGD_CONTROL_SOCKET": "/tmp/t"], "/tmp/t"),
      (0, ["IMGD_SOCKET": ""], "/run/imgd/imgd.sock"),
    ] as [(UInt32, [String: String], String)])
  func `the default socket is where clients look`(
    uid: UInt32, environment: [String: String], socket: String
  )
    throws
  {
    #expect(try load(environment: environment, uid: uid).control.socket == socket)
  }

  @Test func `the socket option is a setting`() throws {
    let arguments = ["--socket", "/tmp/a", "--set", "Control.Socket=/tmp/b"]
    #expect(try load(arguments).control.socket == "/tmp/b")
    #expect(
      try load(arguments + ["--socket=/tmp/c"]).control.socket == "/tmp/c")
  }

  @Test(
    arguments: [
      (0, [:], "/var/cache/imgd"),
      (0, ["HOME": "/root", "XDG_CACHE_HOME": "/root/c"], "/var/cache/imgd"),
      (1000, ["HOME": "/home/u"], "/home/u/.cache/imgd"),
      (1000, ["HOME": "/home/u", "XDG_CACHE_HOME": "/c"], "/c/imgd"),
      (1000, ["HOME": "/home/u", "XDG_CACHE_HOME": "c"], "/home/u/.cache/imgd"),
      (1000, ["HOME": "/home/u", "XDG_CACHE_HOME": ""], "/home/u/.cache/imgd"),
      (1000, ["HOME": "u"], "/var/cache/imgd"),
      (0, ["CACHE_DIRECTORY": "/var/cache/private/imgd"], "/var/cache/private/imgd"),
      (1000, ["CACHE_DIRECTORY": "/a:/b", "XDG_CACHE_HOME": "/c"], "/a"),
      (1000, ["CACHE_DIRECTORY": "", "XDG_CACHE_HOME": "/c"], "/c/imgd"),
      (0, ["CACHE_DIRECTORY": "a:/b"], "/var/cache/imgd"),
      (0, ["CACHE_DIRECTORY": "/a", "IMGD_DISK_DIRECTORY": "/b"], "/b"),
      (0, ["CACHE_DIRECTORY": "/a", "IMGD_DISK_DIRECTORY": ""], "/a"),
    ] as [(UInt32, [String: String], String)])
  func `the default cache directory depends on the instance`(
    uid: UInt32, environment: [String: String], directory: String
  ) throws {
    #expect(try load(environment: environment, uid: uid).disk.directory == directory)
  }

  @Test func `the cache directory option is a setting`() throws {
    let arguments = ["--cache-directory", "/tmp/a", "--set", "Disk.Directory=/tmp/b"]
    let environment = ["IMGD_DISK_DIRECTORY": "/tmp/e", "CACHE_DIRECTORY": "/tmp/s"]
    #expect(try load(arguments, environment: environment).disk.directory == "/tmp/b")
    #expect(try load(arguments + ["--cache-directory=/tmp/c"]).disk.directory == "/tmp/c")
    #expect(
      problems(["--cache-directory", "cache"]) == [
        "--cache-directory: Disk.Directory=cache is not an absolute path: begin with /"
      ])
  }

  @Test func `variables of other programs are ignored`() throws {
    let environment = [
      "IMGD": "x", "IMGD_": "x", "IMGD_LOG": "x", "IMGD_DISKS_X": "x", "IMGD_MEMORY": "x",
      "MEMORY_CAPACITY": "x", "imgd_memory_capacity": "x",
    ]
    #expect(try load(environment: environment) == Configuration())
  }

  @Test(arguments: [
    (
      "IMGD_MEMORY_CAPACITY", "lots",
      "IMGD_MEMORY_CAPACITY: Memory.Capacity=lots is not a size: "
        + "write bytes or a number with K, M or G, such as 100M"
    ),
    (
      "IMGD_MEMORY_CAPCITY", "1M",
      "IMGD_MEMORY_CAPCITY: Memory.CAPCITY is not a key: did you mean Memory.Capacity?"
    ),
    (
      "IMGD_HTTP_", "",
      "IMGD_HTTP_: HTTP. is not a key: [HTTP] has DefaultFreshness, Heuristic, NegativeFreshness, "
        + "StaleIfError, MaxTTL, CredentialFields"
    ),
    (
      "IMGD_DISK_DIRECTORY", "cache",
      "IMGD_DISK_DIRECTORY: Disk.Directory=cache is not an absolute path: begin with /"
    ),
  ])
  func `wrong variables are named`(variable: String, value: String, problem: String) {
    #expect(problems(environment: [variable: value]) == [problem])
  }

  @Test(arguments: [
    (
      "[Memory]\nCapacity=lots",
      "2: Memory.Capacity=lots is not a size: write bytes or a number with K, M or G, such as 100M"
    ),
    ("[Memory]\nCapcity=1M", "2: Memory.Capcity is not a key: did you mean Memory.Capacity?"),
    (
      "[Memory]\nMaxActive=1", "2: Memory.MaxActive is not a key: did you mean Downloads.MaxActive?"
    ),
    (
      "[Memory]\nColour=red",
      "2: Memory.Colour is not a key: [Memory] has Capacity, Preferred, MaxEntry, Pressure"
    ),
    (
      "[Memory]\n=1",
      "2: Memory. is not a key: [Memory] has Capacity, Preferred, MaxEntry, Pressure"
    ),
    (
      "[Memory]\nPreferred=80M\n\nCapacity=50M",
      "2: Memory.Preferred=80M is more than Memory.Capacity=50M: set Memory.Preferred to at most "
        + "50M, or to a percentage such as 60%, which follows Capacity"
    ),
    (
      "[Memory]\nPreferred=101M",
      "2: Memory.Preferred=101M is more than Memory.Capacity=100M: set Memory.Preferred to at most "
        + "100M, or to a percentage such as 60%, which follows Capacity"
    ),
    (
      "[Memory]\nPreferred=101%",
      "2: Memory.Preferred=101% is out of range: write a percentage from 1% to 100%"
    ),
    (
      "[Memory]\nPreferred=most",
      "2: Memory.Preferred=most is neither a size nor a percentage: write one such as 25M or 25%"
    ),
    (
      "[Disk]\nCapacity=5%",
      "2: Disk.Capacity=5% is neither auto nor a size: write auto, or one such as 2G"
    ),
    (
      "[Disk]\nCapacity=2048T",
      "2: Disk.Capacity=2048T is out of range: write a size from 0 to 1024T"
    ),
    (
      "[Memory]\nPressure=on",
      "2: Memory.Pressure=on is not valid: write auto or off"
    ),
    (
      "[Downloads]\nMaxPerHost=0",
      "2: Downloads.MaxPerHost=0 is out of range: write a number from 1 to 10000"
    ),
    (
      "[Control]\nMaxClients=0",
      "2: Control.MaxClients=0 is out of range: write a number from 1 to 1000000"
    ),
    (
      "[Control]\nMaxLine=17M",
      "2: Control.MaxLine=17M is out of range: write a size from 1K to 16M"
    ),
    (
      "[Disk]\nTrimTo=0%",
      "2: Disk.TrimTo=0% is out of range: write a percentage from 1% to 100%"
    ),
    ("[Disk]\nEnabled=perhaps", "2: Disk.Enabled=perhaps is neither yes nor no: write yes or no"),
    (
      "[Disk]\nMinFree=some",
      "2: Disk.MinFree=some is neither a size nor a percentage: write one such as 25M or 25%"
    ),
    (
      "[Disk]\nMaxAge=never",
      "2: Disk.MaxAge=never is not a duration: write one such as 500ms, 30s, 1h 30min or 7d"
    ),
    (
      "[HTTP]\nStaleIfError=on",
      "2: HTTP.StaleIfError=on is neither off nor a duration: write off, or one such as 1h or 7d"
    ),
  ])
  func `mistakes in files are reported with their lines`(text: String, problem: String) throws {
    let files = try Files(["f": text])
    #expect(problems(["--config", files.path + "/f"]) == ["\(files.path)/f:\(problem)"])
  }

  @Test func `a key of an earlier release sets nothing, and is warned of`() throws {
    let files = try Files(["f": "[Memory]\nEviction=scan-resistant\nCapacity=5M\n"])
    let options = try CommandLineOptions.parse([
      "--config", files.path + "/f", "--set", "Disk.Eviction=least-recent",
    ])
    var warnings: [String] = []
    let configuration = try ConfigurationLoader.load(options, environment: [:], uid: 0) {
      warnings.append($0)
    }
    #expect(configuration.memory.capacity == 5 << 20)
    #expect(
      warnings == [
        "\(files.path)/f:2: Memory.Eviction has no effect any more; remove it",
        "--set: Disk.Eviction has no effect any more; remove it",
      ])
  }

  @Test func `all problems of all sources are reported together`() throws {
    let files = try Files([
      "f": "[Memory]\nCapacity=x\nfoo\n", "f.d/a.conf": "[Nope]\n", "f.d/b.conf": "[HTTP]\nA=1\n",
    ])
    let all = problems(
      ["--config", files.path + "/f", "--set", "Nope.A=1", "--set", "Memory.MaxEntry=x"],
      environment: ["IMGD_HTTP_HEURISTIC": "x"])
    let places = all.map { problem in String(problem.prefix { $0 != " " }) }
    let lines = ["f:3:", "f:2:", "f.d/a.conf:1:", "f.d/b.conf:2:"].map { files.path + "/" + $0 }
    #expect(places == lines + ["IMGD_HTTP_HEURISTIC:", "--set:", "--set:"])
  }

  @Test func `strange values are made printable in messages`() {
    let long = String(repeating: "x", count: 200)
    let shownOnce = problems(["--set", "Memory.Capacity=\u{1B}[2J" + long])
    #expect(shownOnce.count == 1)
    #expect(shownOnce[0].hasPrefix("--set: Memory.Capacity=\\x1b[2Jxxx"))
    #expect(shownOnce[0].contains("x… is not a size"))
  }
}
