import ImgdTestSupport

@testable import ImgdTransfer

/// The headers of a body of a thousand bytes that breaks off after six hundred, and can be continued.
enum BrokenBody {
  static let tag = "\"1\""
  static let headers = [("ETag", tag), ("Accept-Ranges", "bytes")]
}

extension OriginAnswer {
  static var broken: OriginAnswer { .cut(sample(1_000), after: 600, headers: BrokenBody.headers) }

  /// The whole body, or the requested range.
  static var whole: OriginAnswer { .ranged(sample(1_000), tag: BrokenBody.tag) }
}

extension OriginServer {
  /// The `Range` of each request for a path; nil for the whole.
  func ranges(_ path: String) -> [String?] {
    requests(path).map { $0.header("range") }
  }
}

extension TransferBench {
  /// The lengths in the `headers` events of a transfer.
  func heads(of serial: UInt64) -> [Int?] {
    events(of: serial).compactMap { event in
      if case .headers(_, let expected) = event { .some(expected) } else { nil }
    }
  }

  /// The progress of a transfer: `received/expected`.
  func reports(of serial: UInt64) -> [String] {
    events(of: serial).compactMap { event in
      guard case .progress(_, let received, let expected) = event else { return nil }
      return "\(received)/\(expected.map(String.init) ?? "?")"
    }
  }
}

extension Array where Element: Equatable {
  /// Whether the elements are some of another's, in its order: a head, and what is there at it, is left
  /// out when the rest comes in the same tick.
  func isPart(of all: [Element]) -> Bool {
    var rest = all[...]
    return allSatisfy { element in
      guard let place = rest.firstIndex(of: element) else { return false }
      rest = rest[(place + 1)...]
      return true
    }
  }
}
