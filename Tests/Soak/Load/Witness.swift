import Glibc
import ImgdSystem
import ImgdTestSupport
import ImgdWire

/// A client that asks for one picture in a steady pace, and measures how long an answer from memory takes.
final class Witness: @unchecked Sendable {
  // Unchecked: only `latencies` is shared.
  private let house: House
  private let latencies = Shared<[Duration]>([])
  private static let pause: CInt = 5

  init(in house: House) { self.house = house }

  /// Those since it was asked last, in order of length.
  func takeLatencies() -> [Duration] {
    latencies.with { latencies in
      defer { latencies = [] }
      return latencies
    }.sorted()
  }

  func stay(until isOver: () -> Bool) {
    let line = #"{"cmd":"fetch","url":"\#(house.origin.url(Gallery.path(Gallery.witness)))","deliver":"none"}"#
    while !isOver() {
      // The daemon is ended now and then.
      guard let client = try? house.daemon.connect() else {
        poll(nil, 0, 50)
        continue
      }
      while !isOver() {
        let start = Instant.current
        guard let answer = try? client.ask(line) else { break }
        let latency = Instant.current - start
        if answer["source"] == "memory" { latencies.with { $0.append(latency) } }
        poll(nil, 0, Self.pause)
      }
    }
  }
}
