import ImgdSystem
import ImgdWire

/// A download as `DownloadScheduler` knows it.
final class ScheduledDownload {
  let serial: UInt64
  let host: HostQueue
  /// How many were enqueued before it.
  let arrival: Int64
  let enqueuedAt: Instant
  var priority: Priority
  /// Its position between the old and the young end of its priority's queue. It gets a new one
  /// whenever it lines up, and no two ever have the same.
  var position: Int64
  /// Nil once it is gone.
  var state: DownloadScheduler.State? = .queued
  /// In which lines of the scheduler it stands, besides those of its host.
  var offers: Set<QueueLines.Sorting> = []

  init(
    serial: UInt64, host: HostQueue, priority: Priority, arrival: Int64, enqueuedAt: Instant,
    position: Int64
  ) {
    self.serial = serial
    self.host = host
    self.priority = priority
    self.arrival = arrival
    self.enqueuedAt = enqueuedAt
    self.position = position
  }
}

/// The downloads that wait for one host, and the number of those that run.
final class HostQueue {
  let name: String
  var queued = 0
  var active = 0
  /// All that wait.
  var lines = QueueLines()

  init(name: String) {
    self.name = name
  }
}
