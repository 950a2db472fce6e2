import ImgdCache
import ImgdSystem
import ImgdTransfer

/// What has happened with the origins of a section, or with one host.
final class OriginTally {
  /// Buckets of a quarter are fine enough to tell a slow origin from a quick one.
  private static let emptyTimes = LatencyHistogram(finestBits: 2, most: Duration.seconds(120).nanoseconds)

  /// The section; nil for a host to which none applies.
  let section: OriginPattern?
  /// Nil for the section itself.
  let host: OriginHost?
  /// The number of the tally that counts the hits in memory (`UseTallies`).
  let number: Int
  let since: Instant

  /// The fetches that have ended otherwise than with a hit in memory.
  private(set) var otherRequests = 0
  /// Those of them that the disk or the fleet has answered.
  private(set) var otherHits = 0
  /// Those of them that have shared another one's download.
  private(set) var coalesced = 0
  private(set) var downloads = 0
  private(set) var errors = 0
  private(set) var bytesReceived = 0
  private(set) var firstBytes: LatencyHistogram?
  private(set) var refusal: Refusal?
  /// The downloads from all hosts of a section; those from one host are counted with its places.
  var active = 0
  var queued = 0

  /// The origin does not let the daemon in, or brings no whole picture, and has done nothing else since.
  struct Refusal {
    enum Reason {
      case status(Int)
      case failure(TransferFailure.Kind)
      case noPicture
    }

    fileprivate(set) var reason: Reason
    fileprivate(set) var times = 0
    fileprivate(set) var last: Instant
  }

  init(section: OriginPattern?, host: OriginHost?, number: Int, since: Instant) {
    self.section = section
    self.host = host
    self.number = number
    self.since = since
  }

  /// What has been counted here of what makes a host busy.
  var countedEvents: Int { otherRequests + downloads }

  func countFetch(endedWith source: DeliveredImage.Source?, isCoalesced: Bool) {
    otherRequests += 1
    switch source {
    case .disk, .fleet: otherHits += 1
    case .network, .revalidated: if isCoalesced { coalesced += 1 }
    case .memory, .client, nil: break
    }
  }

  func countDownload(_ outcome: TransferOutcome, isPicture: Bool, at now: Instant) {
    downloads += 1
    switch outcome {
    case .received(let result):
      if !isPicture { errors += 1 }
      bytesReceived += result.bytesReceived - result.resumedFrom
    case .redirected: break
    case .failed: errors += 1
    }
    if let time = outcome.head?.firstByteAfter {
      if firstBytes == nil { firstBytes = Self.emptyTimes }
      firstBytes?.record(time.nanoseconds)
    }
    if let reason = outcome.refusal(isPicture: isPicture) {
      refusal = Refusal(reason: reason, times: (refusal?.times ?? 0) + 1, last: now)
    } else if outcome.head != nil {
      refusal = nil
    }
  }
}

extension TransferOutcome {
  /// How the origin has kept the daemon out, or what is wrong there; nil where nothing is. That a picture is not there is
  /// an answer.
  fileprivate func refusal(isPicture: Bool) -> OriginTally.Refusal.Reason? {
    guard case .failed(let failure) = self else {
      if case .received = self, !isPicture { return .noPicture }
      return nil
    }
    switch failure.kind {
    case .httpStatus:
      let status = failure.status ?? 0
      return status >= 500 || [401, 403].contains(status) ? .status(status) : nil
    case .dns, .connect, .tls, .truncated: return .failure(failure.kind)
    case .timeout(let phase): return phase <= .firstByte ? .failure(failure.kind) : nil
    default: return nil
    }
  }
}
