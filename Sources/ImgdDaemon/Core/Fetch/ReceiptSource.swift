import ImgdSystem
import ImgdWire

/// Receipts for requests that bring none: random UUIDs, drawn from the kernel in batches.
struct ReceiptSource {
  private static let batch = 256

  private var words = [UInt64](repeating: 0, count: 2 * batch)
  private var place = 2 * batch

  mutating func next() -> ReceiptID {
    if place == words.count { refill() }
    defer { place += 2 }
    return .random(using: (words[place], words[place + 1]))
  }

  private mutating func refill() {
    Randomness.fill(&words)
    place = 0
  }
}
