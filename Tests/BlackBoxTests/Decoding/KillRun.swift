import Glibc
import ImgdTestSupport
import ImgdWire
import Testing

/// Many clients that want much of decoders, some of which are killed meanwhile.
final class KillRun {
  private struct Wish: Hashable {
    let client: Int
    let number: Int
  }

  private let stage: Stage
  private let witness: Witness
  private let clients: [TestClient]
  /// For each client.
  private let pictures: Int
  private let descriptors: Int
  private var generator = SeededGenerator(seed: 11)
  private var killed: [pid_t] = []
  private var outcomes: [Wish: String] = [:]

  init(clients: Int, pictures: Int) throws {
    stage = try Stage("Decode.Workers=3")
    witness = try Witness(stage.daemon)
    self.pictures = pictures
    self.clients = try (0..<clients).map { [stage] _ in try stage.connect() }
    // What comes with the first decoder is there from here on.
    stage.offer(Self.picture(0), at: "/first")
    _ = try stage.pixels(of: "/first")
    _ = try witness.ask(#"{"cmd":"purge"}"#)
    descriptors = stage.daemon.descriptorsBesideFiles
  }

  /// Each has a content of its own: what has ended a decoder is known as bad under any URL.
  private static func picture(_ number: Int) -> [UInt8] {
    TestPicture.png(width: 200, height: 200, seed: UInt64(number))
  }

  private var wishes: [Wish] {
    clients.indices.flatMap { client in
      (0..<pictures).map { Wish(client: client, number: $0) }
    }
  }

  private func line(_ wish: Wish) -> String {
    let form = wish.number % 2 == 0 ? #""deliver":"pixels""# : #""deliver":"none","format":"avif""#
    return #"{"cmd":"fetch","id":\#(wish.number),"url":"\#(stage.base)\#(path(wish))",\#(form)}"#
  }

  private func path(_ wish: Wish) -> String { "/\(wish.client)/\(wish.number)" }

  // MARK: The run

  /// Every client asks for everything at once.
  func ask() throws {
    for (place, wish) in wishes.enumerated() {
      stage.offer(Self.picture(place + 1), at: path(wish))
      try clients[wish.client].send(line(wish))
    }
  }

  /// Hears the answers of all clients in turn, and kills decoders between them.
  func hear(killing wanted: Int) throws {
    let pace = max(1, clients.count * pictures / wanted)
    var heard = 0
    for _ in 0..<pictures {
      for client in clients.indices {
        try take(clients[client].receive(), from: client)
        heard += 1
        if heard % pace == 0 { try killOne() }
      }
    }
    #expect(!killed.isEmpty)
    // One may be given the next order before it comes to its end.
    #expect(try becomes { !stage.daemon.decoders.contains { killed.contains($0.pid) } })
    for client in clients {
      #expect(try client.ask(#"{"cmd":"ping","id":"after"}"#)["id"]?.string == "after")
      while let descriptor = client.takeDescriptor() { close(descriptor) }
    }
  }

  private func take(_ line: JSONValue, from client: Int) throws {
    let number = try #require(line["id"]?.integer.map { Int($0) }, "\(line.text)")
    let wish = Wish(client: client, number: number)
    #expect(outcomes[wish] == nil, "a second answer: \(line.text)")
    let outcome = line["ok"] == true ? "ok" : line.failureCode ?? "nothing"
    #expect(["ok", "decode_crashed"].contains(outcome), "\(line.text)")
    outcomes[wish] = outcome
  }

  /// Kills one of the decoders. One that is only starting is left alone: several starts in a row that fail
  /// say that there is something else wrong.
  private func killOne() throws {
    let decoders = stage.daemon.decoders
    // Until the daemon has taken note of an end, it counts one that is gone in place of one that starts.
    guard !decoders.contains(where: \.isZombie),
      try witness.count("decode", "workers") >= decoders.count,
      let victim = decoders.randomElement(using: &generator),
      let signal = [SIGKILL, SIGSEGV, SIGTERM].randomElement(using: &generator)
    else { return }
    if kill(victim.pid, signal) == 0 { killed.append(victim.pid) }
  }

  // MARK: Afterwards

  private func count(_ outcome: String) -> Int { outcomes.values.count { $0 == outcome } }

  func expectCountsToAddUp() throws {
    #expect(outcomes.count == wishes.count)
    #expect(try witness.count("decode", "failed") == count("decode_crashed"))
    // One went before.
    #expect(try witness.count("decode", "completed") == count("ok") + 1)
    #expect(
      try becomes { try witness.count("decode", "killed") >= count("decode_crashed") })
    #expect(try witness.count("decode", "killed") <= killed.count)
    #expect(try witness.count("decode", "active") == 0)
  }

  /// The pictures over which decoders were killed are known as bad, and no others.
  func expectOnlyVictimsToFail() throws {
    for wish in wishes {
      try clients[wish.client].send(line(wish))
      let answer = try clients[wish.client].receive()
      #expect((answer["ok"] == true) == (outcomes[wish] == "ok"), "\(answer.text)")
      while let descriptor = clients[wish.client].takeDescriptor() { close(descriptor) }
    }
    stage.offer(Self.picture(1_000_000), at: "/new")
    #expect(try stage.pixels(of: "/new").width == 200)
  }

  func expectNothingToBeLeft() throws {
    #expect(try becomes { !stage.daemon.decoders.contains(where: \.isZombie) })
    // Pixels are kept in descriptors.
    _ = try witness.ask(#"{"cmd":"purge"}"#)
    // More decoders, with two descriptors each, and connections to the origin are kept.
    #expect(try becomes { stage.daemon.descriptorsBesideFiles <= descriptors + 16 })
  }
}
