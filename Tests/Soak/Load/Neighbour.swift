import Glibc
import ImgdTestSupport
import ImgdWire

/// A client of another host of the fleet, where nothing goes wrong: its pictures have to be whole, and the first host finds
/// them in the fleet's server. How soon it hears of purges is for the fleet's own tests, but it has to hear of them.
final class Neighbour {
  /// By then the fleet's server has been there for a while, whatever has happened to it.
  private static let longestHearing = Duration.seconds(30)

  private let house: House
  private let ledger: Ledger
  private let verdict: Verdict
  private var noise = Noise(seed: 7)

  init(in house: House, _ ledger: Ledger) {
    self.house = house
    self.ledger = ledger
    verdict = Verdict(gallery: house.gallery, ledger: ledger)
  }

  func stay(until isOver: () -> Bool) {
    while !isOver() {
      do {
        let client = try house.peer.connect()
        while !isOver() {
          try ask(client)
          poll(nil, 0, 20)
        }
      } catch { ledger.lost(1, "the other host: \(error)") }
    }
  }

  private func ask(_ client: TestClient) throws {
    let picture = Int.random(in: 0..<Gallery.count, using: &noise)
    let url = house.origin.url(Gallery.path(picture))
    let oldest = house.gallery.oldest(picture, heardWithin: Self.longestHearing)
    let answer = try client.ask(#"{"cmd":"fetch","url":"\#(url)","deliver":"fd"}"#)
    guard answer["ok"] == .bool(true), let descriptor = client.takeDescriptor() else {
      return ledger.count(error: "elsewhere: \(answer.failureCode ?? "none")")
    }
    defer { close(descriptor) }
    ledger.count("elsewhere from \(answer["source"]?.string ?? "nowhere")")
    verdict.judge(
      bytes: contents(of: descriptor), .init(number: picture, oldest: oldest, form: .descriptor),
      "elsewhere, \(answer.text)")
  }
}
