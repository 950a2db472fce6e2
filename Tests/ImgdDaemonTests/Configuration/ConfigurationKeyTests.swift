import ImgdCache
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdProgram
@testable import ImgdDaemon

struct ConfigurationKeyTests {
  /// The contract: every key with its default as a file writes it.
  private static let defaults: [(key: String, value: String)] = [
    ("Control.Socket", "/run/imgd/imgd.sock"), ("Control.MaxClients", "1024"),
    ("Control.MaxLine", "64K"), ("Control.MaxInline", "256K"),
    ("Control.Allow", ""), ("Control.Admins", "root @imgd-admin"), ("Control.See", "own"),
    ("Control.Purge", "own"), ("Control.Share", "all"), ("Control.Put", "own"),
    ("Memory.Capacity", "100M"), ("Memory.Preferred", "60%"), ("Memory.MaxEntry", "25%"),
    ("Memory.Pressure", "auto"),
    ("Disk.Enabled", "yes"), ("Disk.Directory", "/var/cache/imgd"), ("Disk.Capacity", "auto"),
    ("Disk.TrimTo", "50%"), ("Disk.MaxAge", "7d"),
    ("Disk.MinFree", "5%"), ("Disk.Lease", "30s"), ("Disk.Originals", "shed"),
    ("Downloads.MaxActive", "32"), ("Downloads.MaxPerHost", "4"),
    ("Downloads.Threads", "auto"), ("Downloads.Order", "fifo"),
    ("Downloads.Orphans", "cancel"), ("Downloads.ConnectTimeout", "10s"),
    ("Downloads.IdleTimeout", "20s"), ("Downloads.Timeout", "1min"), ("Downloads.MaxBytes", "64M"),
    ("Downloads.MaxRedirects", "5"), ("Downloads.Retries", "2"),
    ("Downloads.UserAgent", "imgd/0.1.0"),
    ("Downloads.AcceptTypes", "jpeg png gif webp avif heic tiff bmp ico jxl jp2"),
    ("HTTP.DefaultFreshness", "1h"), ("HTTP.Heuristic", "10%"),
    ("HTTP.NegativeFreshness", "1min"), ("HTTP.StaleIfError", "off"),
    ("HTTP.MaxTTL", "7d"), ("HTTP.CredentialFields", ""),
    ("Network.Private", "direct"), ("Network.Allow", ""), ("Network.Deny", ""),
    ("Network.Proxy", "none"), ("Network.NoProxy", ""), ("Network.Offline", "auto"),
    ("Network.CAFile", "/etc/ssl/certs/ca-certificates.crt"),
    ("Decode.Workers", "auto"), ("Decode.MaxPixels", "100000000"), ("Decode.MaxFrames", "1000"),
    ("Decode.MaxDimension", "65535"), ("Decode.Timeout", "10s"), ("Decode.Memory", "1G"),
    ("Decode.IdleExit", "30s"), ("Decode.Sandbox", "required"),
    ("Fleet.Server", ""), ("Fleet.Pictures", ""), ("Fleet.User", ""), ("Fleet.PasswordFile", ""),
    ("Fleet.CAFile", ""), ("Fleet.ServerName", ""), ("Fleet.CertificateFile", ""), ("Fleet.KeyFile", ""),
    ("Fleet.Namespace", "imgd"), ("Fleet.MaxObject", "1M"), ("Fleet.Timeout", "50ms"),
    ("Fleet.TTL", "1d"),
  ]

  /// One other value for each of them.
  private static let others: [String: String] = [
    "Control.Socket": "/tmp/x y.sock", "Control.MaxClients": "1", "Control.MaxLine": "1025",
    "Control.MaxInline": "0", "Control.Allow": "1000 @users",
    "Control.Admins": "root, @wheel", "Control.See": "all", "Control.Purge": "all",
    "Control.Share": "own", "Control.Put": "all", "Memory.Capacity": "1G", "Memory.Preferred": "1M",
    "Memory.MaxEntry": "3M", "Memory.Pressure": "off",
    "Disk.Enabled": "no",
    "Disk.Directory": "/srv/my pictures",
    "Disk.Capacity": "2G", "Disk.TrimTo": "100%",
    "Disk.MaxAge": "0s", "Disk.MinFree": "0",
    "Disk.Lease": "0s", "Disk.Originals": "keep", "Downloads.MaxActive": "16", "Downloads.MaxPerHost": "1",
    "Downloads.Threads": "2",
    "Downloads.Order": "lifo", "Downloads.Orphans": "finish", "Downloads.ConnectTimeout": "1500ms",
    "Downloads.IdleTimeout": "1h30min", "Downloads.Timeout": "5", "Downloads.MaxBytes": "123",
    "Downloads.MaxRedirects": "0", "Downloads.Retries": "0", "Downloads.UserAgent": "a; b #c",
    "Downloads.AcceptTypes": "png", "HTTP.DefaultFreshness": "0s", "HTTP.Heuristic": "0%",
    "HTTP.NegativeFreshness": "0s", "HTTP.StaleIfError": "1d",
    "HTTP.MaxTTL": "1h", "HTTP.CredentialFields": "x-who, x-sesame",
    "Network.Private": "deny", "Network.Allow": "10.0.0.0/8, fd00::/8", "Network.Deny": "::/0",
    "Network.Proxy": "http://proxy:3128", "Network.NoProxy": "example.org, *.lan",
    "Network.Offline": "off", "Network.CAFile": "/etc/ca.pem",
    "Decode.Workers": "3", "Decode.MaxPixels": "10000000000", "Decode.MaxFrames": "1",
    "Decode.MaxDimension": "4096", "Decode.Timeout": "500ms", "Decode.Memory": "64M",
    "Decode.IdleExit": "0s", "Decode.Sandbox": "best-effort",
    "Fleet.Server": "unix:/run/redis/redis-server.sock", "Fleet.User": "imgd",
    "Fleet.Pictures": "rediss://a:6379 sentinel://b,c:7/pictures unix:/s",
    "Fleet.CAFile": "/etc/imgd/ca.crt", "Fleet.ServerName": "cache.example.org",
    "Fleet.CertificateFile": "/etc/imgd/fleet.crt", "Fleet.KeyFile": "/etc/imgd/fleet.key",
    "Fleet.PasswordFile": "/etc/imgd/fleet.password", "Fleet.Namespace": "shop:img_1.0-b",
    "Fleet.MaxObject": "16M", "Fleet.Timeout": "1s", "Fleet.TTL": "1h",
  ]

  /// Keys that are of no use without another one.
  private static let companions = [
    "Fleet.Pictures": "Fleet.Server", "Fleet.CertificateFile": "Fleet.KeyFile",
    "Fleet.KeyFile": "Fleet.CertificateFile",
  ]

  private func read(_ text: String) throws -> Configuration {
    var draft = ConfigurationDraft(defaults: Configuration())
    draft.apply(path: "f", Array(text.utf8))
    return try draft.finished()
  }

  private func configuration(_ key: String, _ value: String) throws -> Configuration {
    let parts = key.split(separator: ".")
    return try read("[\(parts[0])]\n\(parts[1])=\(value)\n")
  }

  @Test func `the keys and their defaults are the documented ones`() {
    let entries = Configuration().entries.map { "\($0.section).\($0.key)=\($0.value)" }
    #expect(entries == Self.defaults.map { "\($0.key)=\($0.value)" })
  }

  /// A file with a value of its own for every key.
  @Test func `a file with every key is kept for later releases`() throws {
    let sections = Dictionary(grouping: Self.others.sorted { $0.key < $1.key }) { $0.key.prefix { $0 != "." } }
    let text = sections.map { section, keys in
      "[\(section)]\n" + keys.map { "\($0.key.dropFirst(section.count + 1))=\($0.value)\n" }.joined()
    }
    let printed = try read(text.joined()).printed().split(separator: "\n").filter { !$0.hasPrefix("#") }
    let now = printed.map { $0 + "\n" }.joined()
    // A later key is in the file of a later release.
    #expect(try LayoutFixture("configuration-\(Release.version).conf", ofNow: now).text.isEmpty == false)
  }

  @Test(arguments: LayoutFixture.all("configuration"))
  func `a file of each release is read as it was meant`(fixture: LayoutFixture) throws {
    let entries = try read(try fixture.text).entries.map { "\($0.section).\($0.key)=\($0.value)" }
    var section = ""
    for line in try fixture.text.split(separator: "\n") {
      if line.hasPrefix("[") {
        section = String(line.dropFirst().dropLast())
      } else {
        #expect(entries.contains("\(section).\(line)"))
      }
    }
  }

  @Test func `a printed configuration is read back equal`() throws {
    #expect(try read(Configuration().printed()) == Configuration())
  }

  @Test(arguments: Configuration.keys.map(\.fullName))
  func `every key is read, printed and read back equal`(key: String) throws {
    let keys = [key] + (Self.companions[key].map { [$0] } ?? [])
    let lines = try keys.map { key in
      let parts = key.split(separator: ".")
      return try "[\(parts[0])]\n\(parts[1])=\(#require(Self.others[key]))\n"
    }
    let changed = try read(lines.joined())
    #expect(changed != Configuration())
    #expect(Configuration().changes(to: changed).map(\.key).sorted() == keys.sorted())
    #expect(try read(changed.printed()) == changed)
  }

  @Test(arguments: Configuration.keys.map(\.fullName))
  func `an empty value means the default`(key: String) throws {
    let value = try #require(Self.others[key])
    let name = try #require(key.split(separator: ".").last)
    #expect(try configuration(key, "\(value)\n\(name)=") == Configuration())
  }

  @Test func `a later value overrides an earlier one`() throws {
    let configuration = try read("[Memory]\nCapacity=200M\n[HTTP]\n[Memory]\nCapacity=300M\n")
    #expect(configuration.memory.capacity == 300 << 20)
    #expect(configuration.memory.maxEntryBytes == 75 << 20)
    #expect(configuration.memory.preferredBytes == 180 << 20)
  }

  @Test(
    arguments: [
      ("Capacity=50M", 50 << 20, 30 << 20), ("Capacity=0", 0, 0), ("Capacity=10", 10, 6),
      ("Capacity=200M\nPreferred=90%", 200 << 20, 180 << 20), ("Preferred=1M", 100 << 20, 1 << 20),
      ("Capacity=1M\nPreferred=100%", 1 << 20, 1 << 20), ("Capacity=50M\nPreferred=0", 50 << 20, 0),
    ] as [(String, Int, Int)])
  func `the preferred amount follows the capacity unless it is a size`(
    text: String, capacity: Int, preferred: Int
  ) throws {
    let memory = try read("[Memory]\n\(text)\n").memory
    #expect(memory.capacity == capacity && memory.preferredBytes == preferred)
  }

  @Test func `the room on disk is a size, or follows the file system`() throws {
    #expect(try configuration("Disk.Capacity", "auto").disk.capacity == .auto)
    #expect(try configuration("Disk.Capacity", "0").disk.capacity == .bytes(0))
    let limits = DiskLimits(Configuration().disk)
    #expect(limits.capacity == 2 << 30 && limits.preferred == 1 << 30)
  }

  @Test func `the daemon's own places need a restart`() {
    #expect(
      Configuration.keys.filter { !$0.isLive }.map(\.fullName)
        == [
          "Control.Socket", "Disk.Enabled", "Disk.Directory", "Downloads.Threads", "Fleet.Server", "Fleet.Pictures",
          "Fleet.User", "Fleet.PasswordFile", "Fleet.CAFile", "Fleet.ServerName", "Fleet.CertificateFile",
          "Fleet.KeyFile", "Fleet.Namespace",
        ])
    var other = Configuration()
    other.control.socket = "/tmp/s"
    other.disk.directory = "/tmp/d"
    other.disk.capacity = .bytes(1)
    other.downloads.order = .lifo
    #expect(
      Configuration().changes(to: other) == [
        ConfigurationChange(key: "Control.Socket", isLive: false),
        ConfigurationChange(key: "Disk.Directory", isLive: false),
        ConfigurationChange(key: "Disk.Capacity", isLive: true),
        ConfigurationChange(key: "Downloads.Order", isLive: true),
      ])
    #expect(other.changes(to: other) == [])
  }

  @Test func `every key is explained in a sentence`() {
    for key in Configuration.keys {
      #expect(key.help.hasSuffix("."), "\(key.fullName)")
      #expect(key.help.utf8.count <= 96, "\(key.fullName)")
    }
    #expect(Set(Configuration.keys.map(\.fullName)).count == Configuration.keys.count)
  }

  @Test func `the printed file contains its explanations`() {
    let beginning = """
      [Control]
      # The path of the socket. A new value needs a restart.
      Socket=/run/imgd/imgd.sock
      # How many clients may be connected; a further client gets an error and is closed.
      MaxClients=1024

      """
    #expect(Configuration().printed().hasPrefix(beginning))
  }
}
