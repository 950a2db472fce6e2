import ImgdConnection
import ImgdSystem

/// Tables for people, made from the daemon's answers.
enum AnswerTable {
  /// Counters in bytes, which are also shown with a unit.
  private static let sizes: Set<String> = [
    "bytes", "capacity", "preferred", "evicted_bytes", "lent_bytes", "bytes_received",
    "removed_bytes", "rss_bytes", "private_bytes",
  ]

  /// The counters of each part of the daemon, one part after the other.
  static func statistics(_ reply: Reply) -> String {
    let parts = reply.fields.compactMap { field in
      reply.object(field).map { part in
        printable(field) + "\n" + columns(rows(of: part, named: ""), indent: "  ")
      }
    }
    return parts.joined(separator: "\n")
  }

  private static func rows(of part: Reply, named prefix: String) -> [[String]] {
    part.fields.flatMap { field -> [[String]] in
      if let inner = part.object(field) { return rows(of: inner, named: prefix + field + ".") }
      var value = printable(part.display(field))
      if sizes.contains(field), let bytes = part.number(field), bytes >= 1024 {
        value += "  (\(Quantity.size(bytes)))"
      }
      return [[printable(prefix + field), value]]
    }
  }

  /// A line for each fetch that is under way.
  static func downloads(_ pages: [Reply]) -> String {
    let names = [
      "receipt", "state", "priority", "received", "expected", "waiters", "age_ms", "url",
    ]
    // The list is the one array in an answer.
    let items = pages.flatMap { page in
      page.fields.lazy.compactMap { page.objects($0) }.first ?? []
    }
    let rows = items.map { item in names.map { printable(item.display($0)) } }
    return columns([names.map { $0.uppercased() }] + rows, indent: "")
  }

  /// Rows with aligned columns; the last column is not padded.
  private static func columns(_ rows: [[String]], indent: String) -> String {
    let count = rows.first?.count ?? 0
    let widths = (0..<count).map { column in
      rows.reduce(0) { max($0, $1[column].unicodeScalars.count) }
    }
    let lines = rows.map { row in
      let padded = row.enumerated().map { column, text in
        column == count - 1
          ? text : text + spaces(widths[column] - text.unicodeScalars.count)
      }
      return indent + padded.joined(separator: "  ")
    }
    return lines.joined(separator: "\n")
  }

  private static func spaces(_ count: Int) -> String {
    String(repeating: " ", count: count)
  }
}
