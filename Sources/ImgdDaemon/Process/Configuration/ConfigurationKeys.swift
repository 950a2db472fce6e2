package import ImgdProgram
import ImgdSystem

extension Configuration: ProgramConfiguration {
  package static let keys: [ConfigurationKey<Configuration>] =
    control + memory + disk + downloads + http + network + decode + fleet

  package static let retiredKeys: Set = ["Memory.Eviction", "Disk.Eviction"]

  /// A larger size is a typing mistake; sums of sizes up to this limit do not overflow.
  private static let anySize = 0...(1 << 50)
  private static let anyDuration = Duration.zero...Duration.seconds(10 * 365 * 86_400)
  /// With a deadline of zero every request would fail.
  private static let deadline = Duration.milliseconds(1)...Duration.seconds(86_400)

  private typealias Key = ConfigurationKey<Configuration>

  private static let control: [Key] = [
    Key(
      // The address of a Unix socket has room for 108 bytes with the terminating zero.
      .control, "Socket", \.control.socket, .path(longest: 107), isLive: false, "The path of the socket."),
    Key(
      .control, "MaxClients", \.control.maxClients, .count(1...1_000_000),
      "How many clients may be connected; a further client gets an error and is closed."),
    Key(.control, "MaxLine", \.control.maxLine, .size(1 << 10...16 << 20), "The longest line a client may send."),
    Key(
      .control, "MaxInline", \.control.maxInline, .size(0...16 << 20),
      "The largest picture that is delivered inside an answer."),
    Key(
      .control, "Allow", \.control.allow, .principals,
      "The users and @groups that may connect; empty: all whom the socket's mode lets in."),
    Key(
      .control, "Admins", \.control.admins, .principals,
      "The users and @groups that see and may do everything, beside root and the daemon's user."),
    Key(
      .control, "See", \.control.see, .word, "Whose fetches and pictures a user is shown: its own, or those of all."),
    Key(
      .control, "Purge", \.control.purge, .word, "Whose pictures a user may remove: its own, or those of all."),
    Key(
      .control, "Share", \.control.share, .word, "Who is shown what one user's fetch has left: all, or its own user."),
    Key(.control, "Put", \.control.put, .word, "Who is shown a picture that a user puts: its own user, or all."),
  ]

  private static let memory: [Key] = [
    Key(
      .memory, "Capacity", \.memory.capacity, .size(anySize),
      "The size that the memory tier may reach before it evicts pictures."),
    Key(
      .memory, "Preferred", \.memory.preferred, .share,
      "What an eviction leaves in the memory tier: a percentage of Capacity, or a size up to it."),
    Key(
      .memory, "MaxEntry", \.memory.maxEntry, .share,
      "The largest picture that the memory tier keeps: a size, or a percentage of Capacity."),
    Key(
      .memory, "Pressure", \.memory.pressure, .word,
      "Whether the memory tier is emptied when the machine is short of memory: auto or off."),
  ]

  private static let disk: [Key] = [
    Key(.disk, "Enabled", \.disk.enabled, .boolean, isLive: false, "Whether pictures are kept on disk."),
    Key(
      .disk, "Directory", \.disk.directory, .path(longest: 3_000), isLive: false,
      "The directory of the pictures, which only this daemon uses."),
    Key(
      .disk, "Capacity", \.disk.capacity, .diskCapacity(anySize),
      "The size that files may reach before an eviction; auto: 5% of the file system, up to 2G."),
    Key(
      .disk, "TrimTo", \.disk.trimToPercent, .percentage(1...100),
      "The part of Capacity to which an eviction reduces the files, 1% to 100%."),
    Key(
      .disk, "MaxAge", \.disk.maxAge, .duration(anyDuration),
      "The longest time that a picture is kept after it was stored, even if used; 0s for no limit."),
    Key(
      .disk, "MinFree", \.disk.minFree, .reserve,
      "The free space to leave on the file system: a size, or a percentage of it; 0 for none."),
    Key(
      .disk, "Lease", \.disk.lease, .duration(anyDuration),
      "How long a file stays at least after its path was handed out."),
    Key(
      .disk, "Originals", \.disk.originals, .word,
      "Whether bytes of pictures with other forms go before these (shed), or pictures whole (keep)."),
  ]

  private static let downloads: [Key] = [
    Key(.downloads, "MaxActive", \.downloads.maxActive, .count(1...10_000), "How many downloads run at once."),
    Key(
      .downloads, "MaxPerHost", \.downloads.maxPerHost, .count(1...10_000),
      "How many downloads run at once from one host, including those that hang or drip."),
    Key(
      .downloads, "Threads", \.downloads.threads, .automaticCount(1...4), isLive: false,
      "How many threads download, each from origins of its own; auto: half of the processors, 1 to 4."),
    Key(
      .downloads, "Order", \.downloads.order, .word,
      "Which download of a connection and a priority starts next: oldest (fifo) or newest (lifo)."),
    Key(
      .downloads, "Orphans", \.downloads.orphans, .word,
      "What happens to a running download when no request waits for it any more: cancel or finish."),
    Key(
      .downloads, "ConnectTimeout", \.downloads.connectTimeout, .duration(deadline),
      "How long connecting to an origin may take: the look-up of its name, the connection and TLS."),
    Key(.downloads, "IdleTimeout", \.downloads.idleTimeout, .duration(deadline), "How long an origin may be silent."),
    Key(.downloads, "Timeout", \.downloads.timeout, .duration(deadline), "How long a whole download may take."),
    Key(
      .downloads, "MaxBytes", \.downloads.maxBytes, .size(1...1 << 40), "The largest picture that the daemon downloads."
    ),
    Key(
      .downloads, "MaxRedirects", \.downloads.maxRedirects, .count(0...50),
      "How many redirects are followed for one request, remembered ones included."),
    Key(
      .downloads, "Retries", \.downloads.retries, .count(0...20),
      "How often the daemon tries again after a temporary failure."),
    Key(
      .downloads, "UserAgent", \.downloads.userAgent, .headerValue,
      "The value of the User-Agent header in requests to origins."),
    Key(
      .downloads, "AcceptTypes", \.downloads.acceptTypes, ValueFormat<AcceptedType>.words,
      "The picture formats that are accepted, recognised by the first bytes."),
  ]

  private static let http: [Key] = [
    Key(
      .http, "DefaultFreshness", \.http.defaultFreshness, .duration(anyDuration),
      "How long a picture counts as fresh if the origin sends nothing about its age."),
    Key(
      .http, "Heuristic", \.http.heuristicPercent, .percentage(0...100),
      "Freshness if the origin sends only the time of the last change: a part of the time since."),
    Key(
      .http, "NegativeFreshness", \.http.negativeFreshness, .duration(anyDuration),
      "How long a 404 or 410 is remembered if the origin does not say; 0s: not at all."),
    Key(
      .http, "StaleIfError", \.http.staleIfError, .durationOrOff(anyDuration),
      "How long a stale picture may be delivered if the origin fails, or off."),
    Key(
      .http, "MaxTTL", \.http.maxTTL, .duration(anyDuration),
      "The longest time that the ttl of a request makes a picture count as fresh."),
    Key(
      .http, "CredentialFields", \.http.credentialFields, .fieldNames,
      "Further request headers that are credentials, beside those whose names say so."),
  ]

  private static let network: [Key] = [
    Key(
      .network, "Private", \.network.privateAddresses, .word,
      "Connections to private addresses: if the request's URL leads there (direct), deny, allow."),
    Key(
      .network, "Allow", \.network.allow, .networks,
      "Private networks to which the daemon may connect whatever Private is."),
    Key(.network, "Deny", \.network.deny, .networks, "Networks to which the daemon never connects."),
    Key(
      .network, "Proxy", \.network.proxy, .proxy,
      "The proxy for all downloads: none, http://host:port or socks5h://host:port."),
    Key(
      .network, "NoProxy", \.network.noProxy, .originPatterns,
      "The origins that are asked without it: hosts, or *.host for those below one."),
    Key(
      .network, "Offline", \.network.offline, .word,
      "Whether fetches wait, and stale pictures are shown, while no route leads out: auto or off."),
    Key(.network, "CAFile", \.network.caFile, .path(longest: 4095), "The certificates that verify origins."),
  ]
  private static let decode: [Key] = [
    Key(
      .decode, "Workers", \.decode.workers, .automaticCount(1...256),
      "How many decoders may run at once; auto: one for each processor."),
    Key(
      .decode, "MaxPixels", \.decode.maxPixels, .count(1...10_000_000_000),
      "The most pixels that a picture may have, over all its frames."),
    Key(.decode, "MaxFrames", \.decode.maxFrames, .count(1...1_000_000), "The most frames that an animation may have."),
    Key(
      .decode, "MaxDimension", \.decode.maxDimension, .count(1...1_000_000),
      "The longest side that a picture may have, and what is made of it, in pixels."),
    Key(.decode, "Timeout", \.decode.timeout, .duration(deadline), "How long a decoder may take for one picture."),
    Key(
      // A library and its tables take some of it before the first picture.
      .decode, "Memory", \.decode.memory, .size(64 << 20...1 << 50),
      "The address space that a decoder may use in addition to that of its libraries."),
    Key(.decode, "IdleExit", \.decode.idleExit, .duration(anyDuration), "How long a decoder without work is kept."),
    Key(
      .decode, "Sandbox", \.decode.sandbox, .word,
      "Whether a decoder must have its whole sandbox (required), or what there is (best-effort)."),
  ]

  private static let fleet: [Key] = [
    Key(
      .fleet, "Server", \.fleet.server, .fleetServer, isLive: false,
      "The server that hosts share: unix:/path, host:port, rediss:// or sentinel://; empty for none."),
    Key(
      .fleet, "Pictures", \.fleet.pictures, .fleetServers, isLive: false,
      "Servers that have the pictures, separated by blanks; empty if Server has them."),
    Key(
      .fleet, "User", \.fleet.user, .oneWord(longest: 64), isLive: false,
      "The user as whom the daemon logs in at the servers; empty for their default user."),
    Key(
      .fleet, "PasswordFile", \.fleet.passwordFile, .path(longest: 4095), isLive: false,
      "The file with the password for the servers, read at each connection; empty for none."),
    Key(
      .fleet, "CAFile", \.fleet.caFile, .path(longest: 4095), isLive: false,
      "The certificates that vouch for servers at rediss://; empty for those of the system."),
    Key(
      .fleet, "ServerName", \.fleet.serverName, .oneWord(longest: 253), isLive: false,
      "The name in the servers' certificates; empty for the host in rediss://host:port."),
    Key(
      .fleet, "CertificateFile", \.fleet.certificateFile, .path(longest: 4095), isLive: false,
      "The certificate that this host shows to servers at rediss://; empty for none."),
    Key(
      .fleet, "KeyFile", \.fleet.keyFile, .path(longest: 4095), isLive: false,
      "The private key of CertificateFile, read at each connection; empty for none."),
    Key(
      .fleet, "Namespace", \.fleet.namespace, .namespace, isLive: false,
      "The beginning of all keys in the servers; hosts with the same one are a fleet."),
    Key(
      .fleet, "MaxObject", \.fleet.maxObject, .size(1 << 10...16 << 20),
      "The largest picture that is written to the server, or read from it."),
    Key(
      .fleet, "Timeout", \.fleet.timeout, .duration(.milliseconds(1)...(.seconds(10))),
      "How long the server may take for the first byte of an answer, and for each pause after it."),
    Key(
      .fleet, "TTL", \.fleet.ttl, .duration(.seconds(1)...anyDuration.upperBound),
      "How long the server keeps a picture at most after it was stored or confirmed."),
  ]

  package static let example: (section: ConfigurationSection, assignment: String) = (.memory, "Capacity=200M")

  /// Clients use this variable too.
  package static let shortVariables: [(variable: String, section: ConfigurationSection, key: String)] = [
    ("IMGD_SOCKET", .control, "Socket")
  ]

  /// Names the mistakes that lie in several values together.
  package func contradictions(origin: (_ key: String) -> String) -> [String] {
    memoryContradictions(origin) + fleetContradictions(origin) + originContradictions(origin)
  }

  /// Complains about what is of no use without another key.
  private func fleetContradictions(_ origin: (_ key: String) -> String) -> [String] {
    var problems: [String] = []
    if !fleet.pictures.isEmpty, fleet.server.isEmpty {
      problems.append(
        "\(origin("Fleet.Pictures")): Fleet.Pictures needs Fleet.Server, which has the purges: set Fleet.Server")
    }
    for (key, other, isAlone) in [
      ("CertificateFile", "KeyFile", !fleet.certificateFile.isEmpty && fleet.keyFile.isEmpty),
      ("KeyFile", "CertificateFile", !fleet.keyFile.isEmpty && fleet.certificateFile.isEmpty),
    ] where isAlone {
      problems.append("\(origin("Fleet.\(key)")): Fleet.\(key) is of no use without Fleet.\(other): set both or none")
    }
    return problems
  }

  /// Complains if `Preferred` exceeds `Capacity`: an eviction cannot leave more than the tier may hold.
  private func memoryContradictions(_ origin: (_ key: String) -> String) -> [String] {
    // A percentage follows the capacity.
    guard case .bytes(let preferred) = memory.preferred, preferred > memory.capacity else { return [] }
    let capacity = SizeText.text(memory.capacity)
    return [
      "\(origin("Memory.Preferred")): Memory.Preferred=\(SizeText.text(preferred)) is more than "
        + "Memory.Capacity=\(capacity): set Memory.Preferred to at most "
        + "\(capacity), or to a percentage such as 60%, which follows Capacity"
    ]
  }
}
