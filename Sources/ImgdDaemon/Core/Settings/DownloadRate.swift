/// How often downloads may begin, as an operator writes it: `20/s` or `30/min`.
package struct DownloadRate: Sendable, Equatable {
  /// The time in which so many begin.
  package enum Unit: String, Sendable, CaseIterable {
    case second = "s"
    case minute = "min"

    fileprivate var length: Duration { self == .second ? .seconds(1) : .seconds(60) }
  }

  package let count: Int
  package let unit: Unit

  package init(_ count: Int, each unit: Unit) {
    self.count = count
    self.unit = unit
  }

  /// The time from one beginning to the next.
  var interval: Duration { unit.length / count }

  /// How many may begin together after a time in which fewer did: what a tenth of a second brings, and at least one.
  var burst: Int { max(Int(Duration.milliseconds(100) / interval), 1) }
}
