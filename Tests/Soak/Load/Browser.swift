import Glibc
import ImgdTestSupport

/// One client of the gateway.
final class Browser {
  private let house: House
  private let ledger: Ledger
  private let verdict: Verdict
  private var noise: Noise

  init(_ number: Int, in house: House, _ ledger: Ledger) {
    self.house = house
    self.ledger = ledger
    verdict = Verdict(gallery: house.gallery, ledger: ledger)
    noise = Noise(seed: UInt64(number) + 1_000)
  }

  func stay(until isOver: () -> Bool) {
    while !isOver() {
      do {
        let connection = try HTTPConversation(house.gateway.socket)
        for _ in 0..<20 where !isOver() {
          try ask(over: connection)
          poll(nil, 0, CInt.random(in: 5...40, using: &noise))
        }
      } catch { ledger.lost(1, "a browser: \(error)") }
    }
  }

  private func ask(over connection: HTTPConversation) throws {
    let picture = Int.random(in: 0..<40, using: &noise)
    let question = Verdict.Question(number: picture, oldest: house.gallery.oldest(picture), form: .inline)
    try connection.send("/fetch?url=\(house.origin.url(Gallery.path(picture)))")
    let answer = try connection.answer()
    ledger.count("HTTP \(answer.status)")
    let said = "over HTTP, \(answer["cache-status"] ?? ""), age \(answer["age"] ?? "")"
    if answer.status == 200 { verdict.judge(bytes: answer.body, question, said) }
  }
}
