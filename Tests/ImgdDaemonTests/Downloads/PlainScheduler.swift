import ImgdSystem
import ImgdWire

@testable import ImgdDaemon

/// The rules of `DownloadScheduler` as one would write them down, looking at everything each time.
struct PlainScheduler {
  struct Item {
    let serial: UInt64
    let host: String
    let arrival: Int
    let enqueuedAt: Instant
    var priority: Priority
    var isActive = false
  }

  var settings: DownloadScheduler.Settings
  private(set) var items: [Item] = []
  private(set) var peakActive = 0
  /// Each priority's queue from its old end to its young end.
  private var queues: [Priority: [UInt64]] = [.low: [], .normal: [], .high: []]
  private var arrivals = 0

  init(settings: DownloadScheduler.Settings) {
    self.settings = settings
  }

  var active: [Item] { items.filter(\.isActive) }
  var queued: [Item] { items.filter { !$0.isActive } }

  mutating func enqueue(_ serial: UInt64, host: String, priority: Priority, at now: Instant) {
    arrivals += 1
    items.append(
      Item(serial: serial, host: host, arrival: arrivals, enqueuedAt: now, priority: priority))
    queues[priority]?.append(serial)
  }

  mutating func setPriority(_ serial: UInt64, _ priority: Priority) {
    guard let place = items.firstIndex(where: { $0.serial == serial }),
      items[place].priority != priority
    else { return }
    let isRaised = priority > items[place].priority
    if !items[place].isActive {
      leaveQueues(serial)
      let isYoungEnd = isRaised == (settings.order == .fifo)
      let youngEnd = queues[priority]?.count ?? 0
      queues[priority]?.insert(serial, at: isYoungEnd ? youngEnd : 0)
    }
    items[place].priority = priority
  }

  mutating func remove(_ serial: UInt64) {
    items.removeAll { $0.serial == serial }
    leaveQueues(serial)
  }

  mutating func startable(at now: Instant) -> [UInt64] {
    var started: [UInt64] = []
    while active.count < settings.maxActive, let serial = next(at: now) {
      for place in items.indices where items[place].serial == serial {
        items[place].isActive = true
      }
      leaveQueues(serial)
      started.append(serial)
      peakActive = max(peakActive, active.count)
    }
    return started
  }

  private mutating func leaveQueues(_ serial: UInt64) {
    for priority in Priority.allCases { queues[priority]?.removeAll { $0 == serial } }
  }

  private func next(at now: Instant) -> UInt64? {
    let open = queued.filter(mayStart)
    let overdue = open.filter { now - $0.enqueuedAt > settings.ageBound }
    if let oldest = overdue.min(by: { $0.arrival < $1.arrival }) { return oldest.serial }
    let serials = Set(open.map(\.serial))
    for priority in Priority.allCases.reversed() {
      let queue = (queues[priority] ?? []).filter(serials.contains)
      if let first = settings.order == .fifo ? queue.first : queue.last { return first }
    }
    return nil
  }

  private func mayStart(_ item: Item) -> Bool {
    if active.filter({ $0.host == item.host }).count >= settings.maxPerHost { return false }
    let low = active.filter { $0.priority == .low }.count
    return item.priority != .low || settings.maxActive < 2 || low < settings.maxActive - 1
  }
}
