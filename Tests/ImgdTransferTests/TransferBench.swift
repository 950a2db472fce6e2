import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdTransfer

/// An engine for tests: begins transfers and waits for their events.
final class TransferBench: Sendable {
  private struct State {
    var serial: UInt64 = 0
    var events: [TransferEvent] = []
  }

  let engine: TransferEngine
  private let state: Shared<State>
  private let proxy: String?
  private let throttle: Throttle?

  init(
    _ settings: TransferSettings = .forTests, proxy: String? = nil, throttle: Throttle? = nil,
    lookUp: @escaping @Sendable (String) -> NameAnswer = NameAnswer.fromSystem
  ) throws {
    let state = Shared(State())
    self.state = state
    self.proxy = proxy
    self.throttle = throttle
    engine = try TransferEngine(settings: settings, lookUp: lookUp) { event in
      state.with { $0.events.append(event) }
    }
  }

  deinit { engine.stop() }

  @discardableResult
  func begin(
    _ url: String, headers: [HeaderField] = [], maxBytes: Int = 1 << 20,
    deadline: Duration = .seconds(60), keepsPartial: Bool = true, uid: UInt32 = 0,
    isAfterPublic: Bool = false, signer: RequestSigner? = nil, proxy: String? = nil
  ) -> UInt64 {
    let serial = state.with { state in
      state.serial += 1
      return state.serial
    }
    engine.begin(
      TransferOrder(
        serial: serial, url: url, headers: headers, maxBytes: maxBytes, deadline: deadline,
        keepsPartial: keepsPartial, uid: uid, isAfterPublic: isAfterPublic, signer: signer,
        proxy: proxy ?? self.proxy, throttle: throttle))
    return serial
  }

  /// Waits for the end of a transfer.
  func outcome(of serial: UInt64) throws -> TransferOutcome {
    try #require(state.wait { $0.events.lazy.compactMap { $0.outcome(of: serial) }.first })
  }

  func fetch(
    _ url: String, headers: [HeaderField] = [], maxBytes: Int = 1 << 20,
    deadline: Duration = .seconds(60), signer: RequestSigner? = nil
  ) throws -> TransferResult {
    let serial = begin(
      url, headers: headers, maxBytes: maxBytes, deadline: deadline, signer: signer)
    switch try outcome(of: serial) {
    case .received(let result): return result
    case .redirected(let redirect):
      throw TransferFailure(.internal, "\(url) redirects to \(redirect.target)")
    case .failed(let failure): throw failure
    }
  }

  func redirect(
    _ url: String, maxBytes: Int = 1 << 20, signer: RequestSigner? = nil
  ) throws -> TransferRedirect {
    let serial = begin(url, maxBytes: maxBytes, signer: signer)
    guard case .redirected(let redirect) = try outcome(of: serial) else {
      throw TransferFailure(.internal, "\(url) does not redirect")
    }
    return redirect
  }

  func failure(
    _ url: String, headers: [HeaderField] = [], maxBytes: Int = 1 << 20,
    deadline: Duration = .seconds(60), isAfterPublic: Bool = false, signer: RequestSigner? = nil
  ) throws -> TransferFailure {
    let serial = begin(
      url, headers: headers, maxBytes: maxBytes, deadline: deadline, isAfterPublic: isAfterPublic,
      signer: signer)
    return try failure(of: serial)
  }

  /// Waits for the failure of a transfer.
  func failure(of serial: UInt64) throws -> TransferFailure {
    guard case .failed(let failure) = try outcome(of: serial) else {
      throw TransferFailure(.internal, "transfer \(serial) has not failed")
    }
    return failure
  }

  /// The events of a transfer so far.
  func events(of serial: UInt64) -> [TransferEvent] {
    state.with { $0.events.filter { $0.serial == serial } }
  }

  /// Waits until the head of a transfer has been reported, or with all of its body the end.
  func waitForHead(of serial: UInt64) throws {
    let isThere: Bool? = state.wait { state in
      state.events.contains { $0.isHead(of: serial) || $0.outcome(of: serial) != nil } ? true : nil
    }
    try #require(isThere == true)
  }
}

extension TransferSettings {
  static var forTests: TransferSettings {
    var settings = TransferSettings()
    settings.retries = 0
    return settings
  }

  static func with(_ change: (inout TransferSettings) -> Void) -> TransferSettings {
    var settings = forTests
    change(&settings)
    return settings
  }
}

extension TransferEvent {
  var serial: UInt64 {
    switch self {
    case .headers(let serial, _), .progress(let serial, _, _), .finished(let serial, _): serial
    }
  }

  func isHead(of wanted: UInt64) -> Bool {
    if case .headers(wanted, _) = self { true } else { false }
  }

  func outcome(of wanted: UInt64) -> TransferOutcome? {
    if case .finished(wanted, let outcome) = self { outcome } else { nil }
  }
}

extension TransferResult {
  var bytes: [UInt8] {
    payload.withBytes { bytes in bytes.withUnsafeBufferPointer { Array($0) } }
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Bytes in which a gap or a repetition can be detected.
func sample(_ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
}
