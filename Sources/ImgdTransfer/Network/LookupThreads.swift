internal import CCurl
import Glibc
internal import ImgdSystem

/// Threads that ask the system for addresses, one name at a time each. One begins when there is a name for it and no
/// other is free, and ends when it has had no name for a while; the caller limits their number.
final class LookupThreads: Sendable {
  private struct State: Sendable {
    var names = Fifo<String>()
    /// Threads that wait, or are about to.
    var free = 0
    var isClosed = false

    /// Takes a free thread, for the next name or for its end.
    mutating func takeThread() -> String? {
      free -= 1
      return names.popFirst()
    }
  }

  private let state = Locked(State())
  private let patience: Duration
  private let lookUp: @Sendable (String) -> NameAnswer
  private let report: @Sendable (String, NameAnswer) -> Void

  /// A thread waits for the next name for as long as `patience`; `report` is called on the threads.
  init(
    patience: Duration = .seconds(10), lookUp: @escaping @Sendable (String) -> NameAnswer,
    report: @escaping @Sendable (String, NameAnswer) -> Void
  ) {
    self.patience = patience
    self.lookUp = lookUp
    self.report = report
  }

  func begin(_ name: String) {
    let isTaken = state.signal { state in
      guard state.free > state.names.count else { return false }
      state.names.append(name)
      return true
    }
    guard !isTaken else { return }
    do throws(SystemFailure) { _ = try Thread(name: "imgd-names") { [self] in work(on: name) } } catch {
      report(name, .shortage(error.description))
    }
  }

  /// Ends the threads, each after its present name, without waiting for them.
  func close() { state.broadcast { $0.isClosed = true } }

  private func work(on first: String) {
    var name: String? = first
    while let present = name {
      let answer = lookUp(present)
      // Free before it reports: the report may bring the next name.
      state.withLock { $0.free += 1 }
      report(present, answer)
      name = next()
    }
  }

  private func next() -> String? {
    let found = state.wait(until: .current + patience) { state -> String?? in
      guard !state.names.isEmpty || state.isClosed else { return nil }
      return .some(state.takeThread())
    }
    // A name may have arrived since the wait timed out.
    return found ?? state.withLock { $0.takeThread() }
  }
}

enum NameAnswer: Sendable, Equatable {
  /// In the order in which they are to be tried; at least one.
  case addresses([IPAddress])
  /// The name does not exist, or has no address.
  case unknown
  /// The name servers could not be asked; the reason is for people.
  case failed(String)
  /// There is no descriptor, no memory or no thread for the look-up.
  case shortage(String)

  static let mostAddresses = 32

  /// Asks the system, which may take as long as its name servers take.
  static func fromSystem(_ name: String) -> NameAnswer {
    var wanted = unsafe addrinfo()
    unsafe wanted.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(name, nil, &wanted, &first)
    guard code == 0 else { return failure(code, errno: errno) }
    defer { unsafe freeaddrinfo(first) }
    var addresses: [IPAddress] = []
    var next = unsafe first
    while let entry = unsafe next, addresses.count < mostAddresses {
      if let socket = unsafe entry.pointee.ai_addr, let address = unsafe IPAddress(socket), !addresses.contains(address)
      {
        addresses.append(address)
      }
      unsafe next = unsafe entry.pointee.ai_next
    }
    return addresses.isEmpty ? .unknown : .addresses(addresses)
  }

  /// `EAI_NODATA`, which glibc declares for its own extensions only.
  private static let noAddress: CInt = -5

  private static func failure(_ code: CInt, errno: CInt) -> NameAnswer {
    let isShort = [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno)
    switch code {
    case EAI_NONAME, noAddress: return .unknown
    case EAI_MEMORY: return .shortage("out of memory")
    case EAI_SYSTEM where isShort: return unsafe .shortage(String(cString: strerror(errno)))
    default: return unsafe .failed(String(cString: gai_strerror(code)))
    }
  }
}
