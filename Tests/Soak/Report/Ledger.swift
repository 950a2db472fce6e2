import Glibc
import ImgdTestSupport

/// What clients were answered, and what went wrong meanwhile.
final class Ledger: Sendable {
  struct Account {
    var times = 0
    /// Pictures that were torn, of another URL or purged, answers that came twice, limits that were passed.
    var wrong = 0
    /// Requests without an answer from a daemon that was there.
    var lost = 0
    /// From the end of the fault until everything worked again.
    var recoveries: [Duration] = []
  }

  struct Pages {
    var accounts: [String: Account] = [:]
    /// The faults that last now.
    var current: [String] = []
    var answers: [String: Int] = [:]
    var errors: [String: Int] = [:]
    /// The first of what was wrong or lost, in words.
    var findings: [String] = []
  }

  static let calm = "none"

  private let pages = Shared(Pages())
  private static let mostFindings = 200

  var all: Pages { pages.with { $0 } }
  var isClean: Bool { pages.with { $0.findings.isEmpty } }

  // MARK: Faults

  func begin(_ fault: String) {
    pages.with { pages in
      pages.current.append(fault)
      pages.accounts[fault, default: Account()].times += 1
    }
  }

  /// What comes of a fault may be seen until all works again.
  func settle(_ fault: String, after recovery: Duration?) {
    pages.with { pages in
      pages.current.removeAll { $0 == fault }
      if let recovery { pages.accounts[fault, default: Account()].recoveries.append(recovery) }
    }
  }

  // MARK: Answers

  func count(_ kind: String) { pages.with { $0.answers[kind, default: 0] += 1 } }

  func count(error code: String) { pages.with { $0.errors[code, default: 0] += 1 } }

  func wrong(_ finding: String) { add(finding) { $0.wrong += 1 } }

  func lost(_ count: Int, _ finding: String) { add(finding) { $0.lost += count } }

  private func add(_ finding: String, _ charge: (inout Account) -> Void) {
    pages.with { pages in
      let faults = pages.current.isEmpty ? [Self.calm] : pages.current
      for fault in faults { charge(&pages.accounts[fault, default: Account()]) }
      guard pages.findings.count < Self.mostFindings else { return }
      let words = "[\(faults.joined(separator: ", "))] \(finding)"
      pages.findings.append(words)
      say("  ! " + words)
    }
  }
}

/// A line that is seen at once, wherever it goes.
func say(_ text: String) {
  print(text)
  fflush(nil)
}
