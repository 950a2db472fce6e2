internal import ImgdSystem

/// The two threads of the tier, which take jobs as values: a writer and a reader.
///
/// Every index has a generation, and jobs for an earlier one get no answer any more. A tier that is off
/// has no threads and no jobs.
final class DiskThreads {
  private(set) var generation = 0
  /// Called with what the disk refuses; set once by the composition of the tier.
  var onTrouble: (DiskTrouble) -> Void = { _ in }

  /// How many are told of one sync, so that no tick has to tell all.
  private static let mostSyncedAtOnce = 256

  /// Those who wait for the next sync.
  private var unsynced = Fifo<(_ isOnDisk: Bool) -> Void>()
  private var isSyncing = false
  private let writer: WorkerThread<DiskWriter>?
  private let reader: WorkerThread<DiskReader>?

  init(on loop: EventLoop, owed: OwedFile) throws(SystemFailure) {
    writer = try WorkerThread(name: "imgd-disk", on: loop) { DiskWriter(owed: owed) }
    reader = try WorkerThread(name: "imgd-reader", on: loop) { DiskReader() }
  }

  init() {
    writer = nil
    reader = nil
  }

  var pending: Int { (writer?.pending ?? 0) + (reader?.pending ?? 0) }

  /// Begins a new generation: from now on jobs are for another index.
  func supersede() { generation += 1 }

  func report(_ trouble: DiskTrouble) { onTrouble(trouble) }

  /// Has the reader answer a question about the index in use.
  func ask<Answer: Sendable>(
    _ question: @escaping @Sendable (DiskReader) throws(DiskTrouble) -> Answer,
    orElse failed: @escaping () -> Void = {}, then: @escaping (Answer) -> Void
  ) {
    let job: @Sendable (DiskReader) -> Result<Answer, DiskTrouble> = { reader in
      Result { () throws(DiskTrouble) in try question(reader) }
    }
    reader?.submit(job) { [unowned self, generation] result in
      guard generation == self.generation else { return failed() }
      switch result {
      case .success(let answer): then(answer)
      case .failure(let trouble):
        report(trouble)
        failed()
      }
    }
  }

  /// Has the writer change the index in use. `then` gets nil if that failed, which has been reported, or if
  /// another index is in use by now.
  func order<Answer: Sendable>(
    _ job: @escaping @Sendable (OpenDisk) throws(DiskTrouble) -> Answer, then: @escaping (Answer?) -> Void = { _ in }
  ) {
    attempt(job) { [unowned self] result, isCurrent in
      guard isCurrent else { return then(nil) }
      switch result {
      case .success(let answer): then(answer)
      case .failure(let trouble):
        report(trouble)
        then(nil)
      }
    }
  }

  /// Has the writer do something, and leaves trouble to the caller. `isCurrent` says whether the index is still
  /// the same.
  func attempt<Answer: Sendable>(
    _ job: @escaping @Sendable (OpenDisk) throws(DiskTrouble) -> Answer,
    then: @escaping (Result<Answer, DiskTrouble>, _ isCurrent: Bool) -> Void
  ) {
    let work: @Sendable (DiskWriter) -> Result<Answer, DiskTrouble> = { writer in
      Result { () throws(DiskTrouble) in try job(try writer.disk()) }
    }
    writer?.submit(work) { [unowned self, generation] result in then(result, generation == self.generation) }
  }

  /// Tells when all that the writer has committed by now is on the disk, or that the disk has refused it. Those who ask
  /// while it is busy share the next sync.
  func sync(then: @escaping (_ isOnDisk: Bool) -> Void) {
    guard writer != nil else { return then(true) }
    unsynced.append(then)
    if !isSyncing { syncNext() }
  }

  private func syncNext() {
    var told: [(Bool) -> Void] = []
    while told.count < Self.mostSyncedAtOnce, let next = unsynced.popFirst() { told.append(next) }
    isSyncing = !told.isEmpty
    guard isSyncing else { return }
    order(
      { (disk) throws(DiskTrouble) in try disk.sync() },
      then: { [unowned self] done in
        for tell in told { tell(done != nil) }
        syncNext()
      })
  }

  /// Has purges written down outside the index; `then` gets what prevented it, or nil.
  func keepOwed(_ orders: [RemovalOrder], then: @escaping (DiskTrouble?) -> Void) {
    let job: @Sendable (DiskWriter) -> DiskTrouble? = { writer in
      do throws(SystemFailure) {
        try writer.owed.write(orders)
        return nil
      } catch { return DiskTrouble(error) }
    }
    writer?.submit(job, then: then)
  }

  /// Has these purges forgotten, since they are in the index or have been carried out.
  func forgetOwed() { writer?.submit { $0.owed.remove() } }

  func finish(_ orders: [RemovalOrder], leases: LeaseEnds, within time: Duration) {
    writer?.submit { $0.finish(orders, leases: leases, within: time) }
  }

  /// Has the writer open a directory and its index; `then` gets nil if another opening has begun by now.
  func open(
    _ open: @escaping @Sendable (DiskWriter) throws(DiskTrouble) -> OpenedDisk,
    then: @escaping (Result<OpenedDisk, DiskTrouble>?) -> Void
  ) {
    let job: @Sendable (DiskWriter) -> Result<OpenedDisk, DiskTrouble> = { writer in
      Result { () throws(DiskTrouble) in try open(writer) }
    }
    writer?.submit(job) { [unowned self, generation] result in then(generation == self.generation ? result : nil) }
  }

  func closeReader(then: @escaping () -> Void) { reader?.submit({ $0.close() }, then: then) }

  func giveBack(then: @escaping () -> Void) {
    reader?.submit { $0.giveBack() }
    writer?.submit({ $0.giveBack() }, then: then)
  }

  /// Has a table of entries freed by the reader's thread, so that the loop need not wait for it.
  func letGo(of table: EntryTable) {
    guard table.count > 0 else { return }
    reader?.submit { _ in _ = table }
  }

  /// Ends both threads after the jobs that they already have.
  func stop(noting uses: [Use], isChecked: Bool) {
    // The last connection to be closed carries the log over into the index.
    reader?.submit { $0.close() }
    reader?.stop()
    writer?.submit { $0.close(uses, isChecked: isChecked) }
    writer?.stop()
  }

  func askWriterForLife(then answered: @escaping () -> Void) {
    guard let writer else { return answered() }
    writer.askForLife(then: answered)
  }

  func askReaderForLife(then answered: @escaping () -> Void) {
    guard let reader else { return answered() }
    reader.askForLife(then: answered)
  }
}
