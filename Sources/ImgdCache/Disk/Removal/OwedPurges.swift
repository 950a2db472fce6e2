import Glibc
internal import ImgdSystem

/// Purges that wait for a disk that works, since they could neither be written into the index nor find their entries.
///
/// They are written down in a file of their own (`OwedFile`), so that a kill does not lose them, and their
/// clients are told how that went. The tier is down as long as there are any.
final class OwedPurges: DiskPart {
  /// How many may wait; if there are more, a purge of everything takes their place.
  private static let most = 64

  private let tools: RemovalTools
  private var works: [PurgeWork] = []
  /// Purges whose clients still have to be answered.
  private var untold: [PurgeWork] = []
  /// Purges that have been taken up again, but are neither in the index file nor carried out yet.
  private var doubtful: [ObjectIdentifier: PurgeWork] = [:]
  private var isWriting = false
  private var isDirty = false
  private var isFileInUse = false

  init(_ ground: DiskGround, tools: RemovalTools) {
    self.tools = tools
    super.init(ground)
  }

  var isEmpty: Bool { works.isEmpty }

  /// Every purge that may not be in the index file.
  var all: [PurgeWork] { works + doubtful.values }

  func add(_ more: [PurgeWork]) {
    guard !more.isEmpty else { return }
    for work in more {
      doubtful[ObjectIdentifier(work)] = nil
      work.beginAnew()
      pending.add(work)
    }
    works += more
    untold += more.filter(\.isAwaited)
    if works.count > Self.most { putClearingInPlace() }
    health.worsen(to: .down, isFull: health.isFull)
    isDirty = true
    writeDown()
  }

  private func putClearingInPlace() {
    for work in works { pending.remove(work) }
    let clearing = PurgeWork(tools.order(PurgeFilter()), with: tools)
    pending.add(clearing)
    works = [clearing]
  }

  func takeUp() -> [PurgeWork] {
    defer { works = [] }
    if isFileInUse || isWriting { for work in works { doubtful[ObjectIdentifier(work)] = work } }
    return works
  }

  /// Notes that a purge is in the index file, or has been carried out.
  func settle(_ work: PurgeWork) {
    guard doubtful.removeValue(forKey: ObjectIdentifier(work)) != nil else { return }
    forgetFile()
  }

  /// Takes note of purges that were found in the file at the start, and are tried again.
  func adopt(_ more: [PurgeWork]) {
    guard !more.isEmpty else { return }
    isFileInUse = true
    for work in more { doubtful[ObjectIdentifier(work)] = work }
  }

  private func forgetFile() {
    guard isFileInUse, !isWriting, works.isEmpty, doubtful.isEmpty else { return }
    isFileInUse = false
    threads.forgetOwed()
  }

  private func writeDown() {
    guard isDirty, !isWriting else { return }
    (isDirty, isWriting) = (false, true)
    let told = untold
    untold = []
    threads.keepOwed(all.map(\.order)) { [unowned self] trouble in
      isWriting = false
      if trouble == nil { isFileInUse = true }
      let outcome = trouble.map { PurgeOutcome.unrecorded(reason: $0.reason, isFull: $0.kind == .full) } ?? .pending
      for work in told { work.tell(outcome) }
      writeDown()
      forgetFile()
    }
  }
}

/// Keeps purges in a file of their own when they could not be written into the index file.
///
/// The file lies in the first directory that can be written: the runtime directory, which is in memory, or else the
/// cache directory itself. It is written as a whole and then renamed, so a kill leaves either the old file or the new
/// one. Its name has a digest of the cache directory's path, so that two daemons don't carry out each other's purges.
struct OwedFile: Sendable {
  private static let rights: mode_t = 0o600
  /// Far more than the purges take that are ever written to it.
  private static let mostBytes = 4 << 20

  private let paths: [String]

  /// `runtime` is a directory that is emptied when the machine starts; nil if there is none.
  init(runtime: String?, cache: String) {
    let digest = KeyDigest(url: cache, identifier: nil).hex
    paths = [runtime, cache].compactMap(\.self).map { "\($0)/purges-\(digest)" }
  }

  func write(_ orders: [RemovalOrder]) throws(SystemFailure) {
    let bytes = OwedCodec.encode(orders)
    var failure: SystemFailure?
    for path in paths {
      do throws(SystemFailure) {
        try write(bytes, to: path)
        for other in paths where other != path { unsafe _ = unlink(other) }
        return
      } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  func remove() { for path in paths { unsafe _ = unlink(path) } }

  private func write(_ bytes: [UInt8], to path: String) throws(SystemFailure) {
    let new = path + ".new"
    unsafe _ = unlink(new)
    let number = unsafe open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, Self.rights)
    guard number >= 0 else { throw SystemFailure("create", new) }
    do throws(SystemFailure) {
      let file = FileDescriptor(owning: number)
      try Self.write(bytes, to: file, new)
      guard unsafe rename(new, path) == 0 else { throw SystemFailure("rename", new) }
    } catch {
      unsafe _ = unlink(new)
      throw error
    }
  }

  private static func write(_ bytes: [UInt8], to file: borrowing FileDescriptor, _ path: String) throws(SystemFailure) {
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.write(file.number, bytes.baseAddress?.advanced(by: done), bytes.count - done)
      }
      guard count >= 0 || errno == EINTR else { throw SystemFailure("write", path) }
      done += max(count, 0)
    }
  }

  /// The purges in the file. Where it cannot be read, since a power loss has cut it or a later version has written it,
  /// they are one of everything: what was purged must not be shown again.
  func read() -> (orders: [RemovalOrder], areKnown: Bool) {
    let orders = paths.compactMap { Self.bytes(of: $0) }.map { OwedCodec.decode($0) }
    if orders.allSatisfy({ !$0.isEmpty }) { return (orders.flatMap(\.self), true) }
    return ([RemovalOrder(PurgeFilter(), isSoft: false, askedAt: WallClock.seconds)], false)
  }

  private static func bytes(of path: String) -> [UInt8]? {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    guard let status = try? file.status(path), status.owner == geteuid(), status.kind == .regular,
      status.size <= mostBytes
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: status.size)
    let count = unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe Glibc.read(file.number, bytes.baseAddress, bytes.count)
    }
    return count == bytes.count ? bytes : nil
  }
}

/// The encoding of purges in an `OwedFile`.
///
/// It leaves out rows and ceilings: nothing can be stored while purges are owed, so they cover everything that
/// is in the index file when it is next opened.
enum OwedCodec {
  static let version: UInt8 = 1

  static func encode(_ orders: [RemovalOrder]) -> [UInt8] {
    var writer = ByteWriter()
    writer.put(UInt64(0))
    writer.put(version)
    writer.put(UInt32(clamping: orders.count))
    for order in orders { put(order, into: &writer) }
    writer.seal()
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8]) -> [RemovalOrder] {
    var reader = ByteReader(bytes[...])
    guard reader.isSealed(), reader.number(UInt8.self) == version else { return [] }
    let count = reader.number(UInt32.self)
    var orders: [RemovalOrder] = []
    while orders.count < count, !reader.hasFailed { orders.append(order(from: &reader)) }
    return reader.hasFailed || !reader.isAtEnd ? [] : orders
  }

  private static func put(_ order: RemovalOrder, into writer: inout ByteWriter) {
    let filter = order.filter
    for text in [filter.url?.text, filter.identifier, filter.prefix, filter.host, filter.tag] { writer.put(text) }
    writer.put(filter.digest?.hex)
    for age in [filter.olderThan, filter.unusedFor] {
      writer.put(UInt8(age == nil ? 0 : 1))
      writer.put(age?.wholeSeconds ?? 0)
    }
    for flag in [filter.expired, order.isSoft] { writer.put(UInt8(flag ? 1 : 0)) }
    writer.put(order.askedAt)
    writer.put(order.keepUntil)
  }

  private static func order(from reader: inout ByteReader) -> RemovalOrder {
    var filter = PurgeFilter()
    filter.url = reader.optionalText().map { CanonicalURL(canonical: $0) }
    filter.identifier = reader.optionalText()
    filter.prefix = reader.optionalText()
    filter.host = reader.optionalText()
    filter.tag = reader.optionalText()
    if let digest = reader.optionalText() {
      // A condition that cannot be read must not count as a missing one.
      guard let known = KeyDigest(hex: digest) else {
        reader.fail()
        return RemovalOrder(filter, isSoft: true, askedAt: 0)
      }
      filter.digest = known
    }
    filter.olderThan = age(from: &reader)
    filter.unusedFor = age(from: &reader)
    filter.expired = reader.number(UInt8.self) == 1
    let isSoft = reader.number(UInt8.self) == 1
    let askedAt = reader.number(Int64.self)
    return RemovalOrder(filter, isSoft: isSoft, askedAt: askedAt, keepUntil: reader.number(Int64.self))
  }

  private static func age(from reader: inout ByteReader) -> Duration? {
    let isGiven = reader.number(UInt8.self) == 1
    let seconds = reader.number(Int64.self)
    return isGiven ? .seconds(min(max(seconds, -SaneRange.most), SaneRange.most)) : nil
  }
}
