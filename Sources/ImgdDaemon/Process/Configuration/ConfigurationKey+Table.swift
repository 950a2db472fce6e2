extension ConfigurationKey {
  /// Every key there is, section by section.
  package static let all: [ConfigurationKey] = control + memory + disk + downloads + http + network

  /// Beyond this a size is a slip of the fingers, and sums of sizes still fit.
  private static let anySize = 0...(1 << 50)
  private static let anyDuration = Duration.zero...Duration.seconds(10 * 365 * 86_400)
  /// A deadline of nothing would fail every request.
  private static let deadline = Duration.milliseconds(1)...Duration.seconds(86_400)

  private static let control: [ConfigurationKey] = [
    ConfigurationKey(
      // The address of a Unix socket has room for 108 bytes with the closing zero.
      .control, "Socket", \.control.socket, .path(longest: 107), isLive: false,
      "Where clients connect."),
    ConfigurationKey(
      .control, "MaxClients", \.control.maxClients, .count(1...1_000_000),
      "How many clients may be connected; one more is told so and closed."),
    ConfigurationKey(
      .control, "MaxLine", \.control.maxLine, .size(1 << 10...16 << 20),
      "The longest line a client may send."),
    ConfigurationKey(
      .control, "MaxInline", \.control.maxInline, .size(0...16 << 20),
      "The largest picture that is delivered inside an answer."),
  ]

  private static let memory: [ConfigurationKey] = [
    ConfigurationKey(
      .memory, "Capacity", \.memory.capacity, .size(anySize),
      "How much the memory tier holds before it removes what was not used for longest."),
    ConfigurationKey(
      .memory, "Preferred", \.memory.preferred, .size(anySize),
      "How much is left after such a removal; at most Capacity."),
    ConfigurationKey(
      .memory, "MaxEntry", \.memory.maxEntry, .share,
      "The largest picture the memory tier takes: a size, or a percentage of Capacity."),
    ConfigurationKey(
      .memory, "Pressure", \.memory.pressure, .word,
      "Whether the memory tier is emptied when the machine is short of memory: auto or off."),
  ]

  private static let disk: [ConfigurationKey] = [
    ConfigurationKey(
      .disk, "Enabled", \.disk.enabled, .boolean, isLive: false,
      "Whether pictures are kept on disk."),
    ConfigurationKey(
      .disk, "Directory", \.disk.directory, .path(longest: 3_000), isLive: false,
      "Where they are kept: a directory of the daemon's own."),
    ConfigurationKey(
      .disk, "Capacity", \.disk.capacity, .size(anySize),
      "How much the files may take before those that were not used for longest are removed."),
    ConfigurationKey(
      .disk, "TrimTo", \.disk.trimToPercent, .percentage(1...100),
      "How much of Capacity is left after such a removal."),
    ConfigurationKey(
      .disk, "MaxAge", \.disk.maxAge, .duration(anyDuration),
      "How long a picture is kept at most, used or not; 0s for no limit."),
    ConfigurationKey(
      .disk, "MinFree", \.disk.minFree, .reserve,
      "What stays free of the file system: a size, or a percentage of it; 0 to use it all."),
    ConfigurationKey(
      .disk, "Lease", \.disk.lease, .duration(anyDuration),
      "How long a file stays at least after its path was handed out."),
  ]

  private static let downloads: [ConfigurationKey] = [
    ConfigurationKey(
      .downloads, "MaxActive", \.downloads.maxActive, .count(1...10_000),
      "How many downloads run at once."),
    ConfigurationKey(
      .downloads, "MaxPerHost", \.downloads.maxPerHost, .count(1...10_000),
      "How many downloads run at once from one host."),
    ConfigurationKey(
      .downloads, "Order", \.downloads.order, .word,
      "Which waiting download starts next: the oldest (fifo) or the newest (lifo)."),
    ConfigurationKey(
      .downloads, "Orphans", \.downloads.orphans, .word,
      "What becomes of a running download that nobody waits for: cancel or finish."),
    ConfigurationKey(
      .downloads, "ConnectTimeout", \.downloads.connectTimeout, .duration(deadline),
      "How long a connection may take to be made."),
    ConfigurationKey(
      .downloads, "IdleTimeout", \.downloads.idleTimeout, .duration(deadline),
      "How long an origin may send nothing."),
    ConfigurationKey(
      .downloads, "Timeout", \.downloads.timeout, .duration(deadline),
      "How long a whole download may take."),
    ConfigurationKey(
      .downloads, "MaxBytes", \.downloads.maxBytes, .size(1...1 << 40),
      "The largest picture that is downloaded."),
    ConfigurationKey(
      .downloads, "MaxRedirects", \.downloads.maxRedirects, .count(0...50),
      "How many redirects are followed."),
    ConfigurationKey(
      .downloads, "Retries", \.downloads.retries, .count(0...20),
      "How often a download that failed for a passing reason is tried again."),
    ConfigurationKey(
      .downloads, "UserAgent", \.downloads.userAgent, .headerValue,
      "The name under which origins are asked."),
    ConfigurationKey(
      .downloads, "AcceptTypes", \.downloads.acceptTypes, ValueFormat<AcceptedType>.words,
      "The kinds of picture that are accepted, told by their first bytes."),
  ]

  private static let http: [ConfigurationKey] = [
    ConfigurationKey(
      .http, "DefaultFreshness", \.http.defaultFreshness, .duration(anyDuration),
      "How long a picture counts as fresh when its origin says nothing at all about its age."),
    ConfigurationKey(
      .http, "Heuristic", \.http.heuristicPercent, .percentage(0...100),
      "How long a picture that only says when it was changed counts as fresh: a part of its age."),
    ConfigurationKey(
      .http, "NegativeFreshness", \.http.negativeFreshness, .duration(anyDuration),
      "How long a 404 or 410 is remembered, and a failed name look-up for at most 5s; 0s: not."),
    ConfigurationKey(
      .http, "StaleIfError", \.http.staleIfError, .durationOrOff(anyDuration),
      "How long a stale picture stands in for an origin that fails and says nothing of it, or off."),
  ]

  private static let network: [ConfigurationKey] = [
    ConfigurationKey(
      .network, "Private", \.network.privateAddresses, .word,
      "Whether private addresses may be asked: if the request names them (direct), deny or allow."),
    ConfigurationKey(
      .network, "Allow", \.network.allow, .networks,
      "Networks that may be asked whatever Private says."),
    ConfigurationKey(
      .network, "Deny", \.network.deny, .networks,
      "Networks that are never asked."),
    ConfigurationKey(
      .network, "Proxy", \.network.proxy, .proxy,
      "The proxy that all downloads go through: none, or http://host:port."),
    ConfigurationKey(
      .network, "CAFile", \.network.caFile, .path(longest: 4095),
      "The certificates that origins are verified with."),
  ]
}
