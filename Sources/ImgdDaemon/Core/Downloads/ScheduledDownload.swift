import ImgdSystem
import ImgdWire

/// The connection in whose name a download waits.
struct Claimant: Hashable {
  let uid: UInt32
  let connection: UInt64
}

extension ReplyPlace {
  var claimant: Claimant { Claimant(uid: peer.uid, connection: number) }
}

/// A download as `DownloadScheduler` knows it.
final class ScheduledDownload {
  let serial: UInt64
  let host: HostQueue
  /// One for each connection that wants it. The first whose turn comes starts it.
  var claims: [Claimant: Claim] = [:]
  var state = DownloadScheduler.State.queued
  /// In whose name it runs.
  var holder: Claimant?
  var isSlow = false
  /// The requests that wait for it, by priority.
  var requests = PriorityCounts()

  init(serial: UInt64, host: HostQueue) {
    self.serial = serial
    self.host = host
  }
}

/// One connection's wish for a download.
final class Claim: Hashable {
  unowned let download: ScheduledDownload
  let claimant: Claimant
  /// How many came before it.
  let arrival: Int64
  let since: Instant
  /// That connection's requests for the download.
  var requests = PriorityCounts()
  /// The priority of the line in which it stands.
  var priority: Priority
  /// Its position between the old and the young end of the queue. It gets a new one whenever it lines
  /// up, and no two ever have the same.
  var position: Int64 = 0
  /// The key of its position under the present order.
  var turnKey: Int64 = 0

  init(
    to download: ScheduledDownload, by claimant: Claimant, _ priority: Priority, arrival: Int64,
    since: Instant
  ) {
    self.download = download
    self.claimant = claimant
    self.priority = priority
    self.arrival = arrival
    self.since = since
  }

  static func == (left: Claim, right: Claim) -> Bool { left === right }

  func hash(into hasher: inout Hasher) { hasher.combine(arrival) }
}

/// How many requests there are of each priority.
struct PriorityCounts {
  private var low = 0
  private var normal = 0
  private var high = 0

  var isEmpty: Bool { low + normal + high == 0 }

  /// The highest that is there; without any it is the lowest.
  var highest: Priority { high > 0 ? .high : normal > 0 ? .normal : .low }

  subscript(priority: Priority) -> Int {
    get {
      switch priority {
      case .low: low
      case .normal: normal
      case .high: high
      }
    }
    set {
      switch priority {
      case .low: low = newValue
      case .normal: normal = newValue
      case .high: high = newValue
      }
    }
  }
}
