// libcurl does the work of one thread on one thread: connections, TLS and the copying of bodies. Where that thread is
// what downloads wait for, more of them share the work, each with an engine of its own, which knows nothing of the
// others. An origin belongs to one of them for good, so that its connections are used again, and what is slow about it
// stays there. How many downloads there may be, of each host and in all, is decided before, for all of them together.

package import ImgdSystem

/// The engines of transfers. One is there from the start, the others from their first transfer on.
package final class TransferThreads {
  /// Origins with the same hash belong together: a place for each would have to be given up at some time.
  private static let places = 1_024

  private var engines: [TransferEngine?]
  /// The engine of each place that has been asked for, and how many places each engine has.
  private var engineOfPlace = [Int8](repeating: -1, count: TransferThreads.places)
  private var placesOfEngine: [Int]
  private var settings: TransferSettings
  private let report: @Sendable (TransferEvent) -> Void

  /// Starts the first engine; `report` is called on the threads, in order for each transfer, and must not wait.
  package init(count: Int, settings: TransferSettings, report: @escaping @Sendable (TransferEvent) -> Void)
    throws(SystemFailure)
  {
    self.settings = settings
    self.settings.engines = count
    self.report = report
    placesOfEngine = Array(repeating: 0, count: count)
    engines = Array(repeating: nil, count: count)
    engines[0] = try TransferEngine.start(settings: self.settings, report: report)
  }

  var running: [TransferEngine] { engines.compactMap { $0 } }
  /// The transfers under way on each thread.
  var loads: [Int] { engines.map { $0?.load ?? 0 } }

  /// How many threads there are.
  package var count: Int { running.count }

  /// Begins a transfer; all its events carry the order's serial.
  package func begin(_ order: TransferOrder) { engine(for: order.url)?.begin(order) }

  /// Changes the limits of a transfer, if it is still under way; the deadline counts from its beginning.
  package func adjust(serial: UInt64, maxBytes: Int, deadline: Duration) {
    for engine in running { engine.adjust(serial: serial, maxBytes: maxBytes, deadline: deadline) }
  }

  /// Ends a transfer without an event; events already on their way may still arrive.
  package func abort(serial: UInt64) { for engine in running { engine.abort(serial: serial) } }

  /// Applies new settings to transfers that begin from now on.
  package func apply(_ settings: TransferSettings) {
    self.settings = settings
    self.settings.engines = engines.count
    for engine in running { engine.apply(self.settings) }
  }

  /// Frees the partial bodies that wait to be continued, at most 32 MB.
  package func dropPartials() { for engine in running { engine.dropPartials() } }

  /// What all of them hold; reading it does not wait for them.
  package var holdings: TransferHoldings { running.reduce(into: TransferHoldings()) { $0.add($1.holdings) } }

  /// Calls `answer` on one of the threads when all of them have answered, in a tick of their loops.
  package func askForLife(_ answer: @escaping @Sendable () -> Void) {
    let ask = running.reduce(answer) { answer, engine in { engine.askForLife(answer) } }
    ask()
  }

  /// Aborts everything, ends the threads and waits for their end.
  package func stop() { for engine in running { engine.stop() } }

  // MARK: Origins

  private func engine(for url: String) -> TransferEngine? {
    guard engines.count > 1 else { return engines[0] }
    let place = Self.place(of: url)
    if engineOfPlace[place] < 0 {
      let chosen = leastBusy
      placesOfEngine[chosen] += 1
      engineOfPlace[place] = Int8(chosen)
    }
    return start(Int(engineOfPlace[place])) ?? engines[0]
  }

  /// The engine with the fewest transfers under way, and of several such the one with the fewest origins.
  private var leastBusy: Int {
    let loads = loads
    return engines.indices.min { (loads[$0], placesOfEngine[$0]) < (loads[$1], placesOfEngine[$1]) } ?? 0
  }

  /// Nil where there is no room for another thread at the moment: the first engine takes its origins meanwhile.
  private func start(_ index: Int) -> TransferEngine? {
    if engines[index] == nil { engines[index] = try? TransferEngine.start(settings: settings, report: report) }
    return engines[index]
  }

  /// The place of a URL's scheme, host and port.
  private static func place(of url: String) -> Int {
    var slashes = 0
    let origin = url.utf8.prefix { byte in
      if byte == UInt8(ascii: "/") { slashes += 1 }
      return slashes < 3
    }
    return Int(UInt(bitPattern: Substring(origin).hashValue) % UInt(places))
  }
}
