import ImgdTestSupport

@testable import ImgdTransfer

/// A thousand bytes that break off after six hundred, at an origin that can go on.
enum Broken {
  static let tag = "\"1\""
  static let headers = [("ETag", tag), ("Accept-Ranges", "bytes")]
}

extension OriginAnswer {
  static var broken: OriginAnswer { .cut(sample(1_000), after: 600, headers: Broken.headers) }

  /// The whole, or what is missing of it.
  static var whole: OriginAnswer { .ranged(sample(1_000), tag: Broken.tag) }
}

extension OriginServer {
  /// The ranges that a path was asked for; nil where it was asked for whole.
  func ranges(_ path: String) -> [String?] {
    requests(path).map { $0.header("range") }
  }
}

extension TransferBench {
  /// What the heads of a transfer announced.
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
