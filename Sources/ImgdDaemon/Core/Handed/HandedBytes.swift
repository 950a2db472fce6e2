// What clients hand in is copied before anybody trusts it, on threads that do nothing else: a file in somebody's own
// file system may be read, or closed, for ever. The threads are few, and users take turns. A user holds no more of
// them than are left free, so that files that never answer cannot take the last thread from those of others. A thread
// that has been at a file for long is set aside, and another takes its turn: so many of all, and of each user.
//
//   a line with a descriptor ─► its user's turn ─► a thread: status, copy, close, recognise, sum ─► the loop
//
// A fetch may leave before its copy is there; the thread goes on, and what it brings is dropped.

import ImgdCache
import ImgdPicture
import ImgdSystem
import ImgdWire

final class HandedBytes {
  typealias Outcome = Result<HandedPicture, WireError>

  static let mostThreads = 4
  /// How long a copy may take before its thread is set aside: far longer than that of any picture from a disk that works.
  static let patience = Duration.seconds(2)
  static let (mostAside, mostAsideOfUser) = (24, 8)
  /// A user with more descriptors in line is not read from until some of them have had their turn.
  static let mostInLine = 16

  struct Work: Sendable {
    let serial: UInt64
    let file: HandedFile
    /// The most bytes that it may have; nil for a descriptor that is only closed.
    let limit: Int?
  }

  /// The right to the outcome of a copy.
  struct Place { fileprivate let serial: UInt64 }

  private struct Waiting {
    let work: Work
    let claim: Claim
  }

  private struct Running {
    let uid: UInt32
    let patience: Timer
  }

  private let loop: EventLoop
  private let carryOut: @Sendable (Work) -> Outcome?
  private let line = TurnLine(.user, to: .connection)
  private var waiting: [UInt64: Waiting] = [:]
  private var running: [UInt64: Running] = [:]
  /// Whose copies have been set aside.
  private var aside: [UInt64: UInt32] = [:]
  private var held: [UInt32: Int] = [:]
  /// How many of each user are in line, and the connections of a user with too many, which are not read from.
  private var inLine: [UInt32: Int] = [:]
  private var paused: [UInt32: Fifo<ReplyPlace>] = [:]
  private var listeners: [UInt64: (Outcome) -> Void] = [:]
  private var lastSerial: UInt64 = 0
  /// Made with the first descriptor that comes.
  private lazy var threads = makeThreads()

  /// `carryOut` is called on the threads.
  init(loop: EventLoop, carryOut: @escaping @Sendable (Work) -> Outcome?) {
    self.loop = loop
    self.carryOut = carryOut
  }

  /// How many descriptors are in line or on a thread.
  var count: Int { waiting.count + running.count + aside.count }

  /// Copies what a client has handed in and closes it; `then` is called once, never within this call, unless the place is
  /// given up.
  func copy(
    _ file: HandedFile, within limit: Int, for client: ReplyPlace, then: @escaping (Outcome) -> Void
  ) -> Place {
    let serial = add(file, limit: limit, for: client)
    listeners[serial] = then
    startNext()
    return Place(serial: serial)
  }

  /// Closes a descriptor that is of no use.
  func close(_ file: HandedFile, of client: ReplyPlace) {
    _ = add(file, limit: nil, for: client)
    startNext()
  }

  /// Gives up an outcome.
  func leave(_ place: Place) { listeners[place.serial] = nil }

  /// Ends the threads, without waiting for them.
  func close() { if lastSerial > 0 { threads?.close() } }

  private func add(_ file: HandedFile, limit: Int?, for client: ReplyPlace) -> UInt64 {
    lastSerial += 1
    let uid = client.peer.uid
    let claim = Claim(to: lastSerial, by: client.claimant, .normal, arrival: Int64(lastSerial))
    waiting[lastSerial] = Waiting(work: Work(serial: lastSerial, file: file, limit: limit), claim: claim)
    line.insert(claim)
    inLine[uid, default: 0] += 1
    if inLine[uid, default: 0] > Self.mostInLine {
      client.hold()
      paused[uid, default: Fifo()].append(client)
    }
    return lastSerial
  }

  private func startNext() {
    while running.count < Self.mostThreads,
      let claim = line.heads(admits: { [held, free = Self.mostThreads - running.count] in
        held[$0.uid, default: 0] < free ? .anything : .nothing
      })?.next, let next = waiting.removeValue(forKey: claim.serial)
    {
      line.charge(for: claim)
      line.remove(claim)
      leaveLine(claim.claimant.uid)
      let patience = loop.schedule(after: Self.patience) { [unowned self] in setAside(claim.serial) }
      running[claim.serial] = Running(uid: claim.claimant.uid, patience: patience)
      held[claim.claimant.uid, default: 0] += 1
      let isWanted = listeners[claim.serial] != nil
      begin(isWanted ? next.work : Work(serial: claim.serial, file: next.work.file, limit: nil))
    }
  }

  private func leaveLine(_ uid: UInt32) {
    inLine.countDown(uid)
    guard let client = paused[uid]?.popFirst() else { return }
    if paused[uid]?.isEmpty == true { paused[uid] = nil }
    client.release()
  }

  private func begin(_ work: Work) {
    do throws(SystemFailure) {
      guard let threads else { throw SystemFailure("eventfd", errno: 24) }
      try threads.begin(work)
    } catch {
      let failure = WireError(.unavailable, "there is no thread for a copy now: \(error.description)")
      loop.nextTick { [self] in settle(work.serial, .failure(failure)) }
    }
  }

  private func makeThreads() -> WorkThreads<Work, Outcome?>? {
    let outcomes = try? loop.makeMailbox { [unowned self] (end: (serial: UInt64, outcome: Outcome?)) in
      settle(end.serial, end.outcome)
    }
    return outcomes.map { outcomes in
      WorkThreads(name: "imgd-copies", carryOut: carryOut) { outcomes.post(($0.serial, $1)) }
    }
  }

  private func settle(_ serial: UInt64, _ outcome: Outcome?) {
    free(serial)
    aside[serial] = nil
    let then = listeners.removeValue(forKey: serial)
    startNext()
    if let outcome { then?(outcome) }
  }

  private func setAside(_ serial: UInt64) {
    guard let uid = running[serial]?.uid, aside.count < Self.mostAside,
      aside.values.count(where: { $0 == uid }) < Self.mostAsideOfUser
    else { return }
    free(serial)
    aside[serial] = uid
    startNext()
  }

  /// Counts a copy no longer among those that others wait for.
  private func free(_ serial: UInt64) {
    guard let copy = running.removeValue(forKey: serial) else { return }
    copy.patience.cancel()
    held.countDown(copy.uid)
  }

  /// Carries out the work, on a thread.
  @Sendable static func copy(_ work: Work) -> Outcome? {
    guard let limit = work.limit else {
      work.file.close()
      return nil
    }
    switch work.file.copy(within: limit) {
    case .failure(let problem): return .failure(WireError(problem, limit: limit))
    case .success(let payload):
      do throws(NotAPicture) { return .success(try HandedPicture(payload)) } catch {
        return .failure(.notAnImage(error))
      }
    }
  }
}

/// A picture that a client has handed in: a copy that nobody can change.
struct HandedPicture: Sendable {
  let payload: Payload
  let measures: PictureMeasures
  let checksum: BodyChecksum
  /// The URL that stands for its bytes.
  let url: CanonicalURL

  init(_ payload: Payload) throws(NotAPicture) {
    self.payload = payload
    measures = try payload.withBytes { bytes throws(NotAPicture) in try PictureProbe.recognise(bytes) }
    checksum = BodyChecksum(of: payload)
    url = payload.withBytes { CanonicalURL(ofBytes: $0) }
  }
}

extension WireError {
  fileprivate init(_ problem: HandedFile.Problem, limit: Int) {
    let wanted = "imgd reads regular files and memfds"
    switch problem {
    case .isNoFile(let kind): self.init(.badRequest, "the descriptor is \(kind.name); \(wanted)")
    case .isTooLarge: self = .tooLarge(limit: limit)
    case .isEmpty: self.init(.emptyBody, "there are no bytes in what was handed in")
    case .hasChanged: self.init(.truncated, "the file became shorter or longer while it was read: hand it in again")
    case .isNotBase64: self.init(.badRequest, "\"data\" is not base64 with padding", details: ["field": "data"])
    case .isLost: self.init(.tooManyRequests, "the daemon has no descriptors left: try again later")
    case .unreadable(let failure):
      let cause = "the descriptor cannot be read: \(failure.reason)"
      self.init(.badRequest, "\(cause); \(wanted), but not with O_DIRECT, and not in huge pages")
    }
  }
}

extension FileStatus.Kind {
  fileprivate var name: String {
    switch self {
    case .regular: "a file"
    case .directory: "a directory"
    case .link: "a symbolic link"
    case .pipe: "a pipe"
    case .socket: "a socket"
    case .device: "a device"
    case .other: "no file"
    }
  }
}
