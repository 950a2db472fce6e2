import ImgdCache
import ImgdSystem
import ImgdTransfer

// What downloads wait for: their turn, their host, the network.
extension Downloader {
  /// What a download waits for. A transfer that the engine has not taken up yet has only waited for its turn.
  func phase(of download: MergedDownload) -> WaitingPhase {
    if let phase = download.transferPhase.known { return .transfer(phase) }
    guard download.state == .running || reaches(download.askedURL) else { return .offline }
    return .queue(running: places.active, held: hold(of: download.askedURL))
  }

  /// Why nothing more begins at the host of a URL now; nil where that would be served in its turn.
  func hold(of url: CanonicalURL) -> HoldReason? { hold(ofHost: origins.host(of: url)) }

  /// The same for a host by the name by which its downloads are counted.
  func hold(ofHost name: String) -> HoldReason? { scheduler.gate.hold(of: name, at: loop.now) }

  /// How many downloads from a host wait, and how many run.
  func load(ofHost name: String) -> (queued: Int, active: Int) {
    scheduler.gate.hosts[name].map { ($0.queued, $0.active) } ?? (0, 0)
  }

  /// The least time that a download waits, because its host has asked to be left alone.
  func pause(of download: MergedDownload) -> Duration? {
    download.state == .queued ? pause(of: download.askedURL) : nil
  }

  /// How long the host of a URL is still left alone, as it has asked for; nil where it may be asked now.
  func pause(of url: CanonicalURL) -> Duration? {
    scheduler.gate.holdEnd(of: origins.host(of: url)).map { $0 - loop.now }.flatMap { $0 > .zero ? $0 : nil }
  }

  // MARK: The network

  /// What can be reached of the network.
  var reach: Reach { scheduler.gate.reach }

  /// Whether a route leads to the host of a URL.
  func reaches(_ url: CanonicalURL) -> Bool { reach.includes(proxies.contact(for: url)) }

  /// Takes in that the last route has gone, or that there is one again; false where that was known. The hosts have to be
  /// reviewed then.
  func changeReach(isOffline: Bool) -> Bool { scheduler.gate.reach.change(isOffline: isOffline) }

  /// Withholds some of the hosts after a number, or offers them again; returns where to go on.
  func reviewHosts(after number: UInt64, most: Int) -> UInt64? { scheduler.gate.review(after: number, most: most) }

  /// Whether a transfer has failed because there is no way to its host: then it is made again when there is one.
  func isInterruption(_ failure: TransferFailure, of download: MergedDownload) -> Bool {
    failure.isOfConnection && !reaches(download.url)
  }
}

extension TransferFailure {
  /// Whether no whole answer has come because of the way to the host.
  fileprivate var isOfConnection: Bool {
    switch kind {
    case .dns, .connect, .tls, .timeout, .truncated: true
    default: false
    }
  }
}
