import Glibc
import ImgdSystem
import ImgdTestSupport
import ImgdWire
import Testing

/// Clients that write and do not read.
struct EndlessWriterTests {
  @Test(arguments: [#"{"cmd":"ping"}"# + "\n", "x"])
  func `a client that writes endlessly and cannot be answered does not stop the others`(
    text: String
  ) throws {
    let stage = try Stage()
    let deaf = try RawClient(stage.daemon)
    deaf.say(#"{"cmd":"ping"}"#)
    shutdown(deaf.descriptor, CInt(SHUT_RD))
    let writer = try write(text, for: deaf.descriptor)
    defer {
      // The writer ends when its connection does, and before its descriptor is closed.
      shutdown(deaf.descriptor, CInt(SHUT_RDWR))
      writer.join()
    }
    for number in 0..<50 {
      let answer = try stage.client.ask(#"{"cmd":"ping","id":\#(number)}"#)
      #expect(answer["id"]?.integer == Int64(number) && answer["ok"]?.bool == true)
    }
  }

  /// Writes the text over and over, as fast as it is taken, until the connection is lost.
  private func write(_ text: String, for descriptor: CInt) throws -> Thread {
    let block = Array(String(repeating: text, count: 4_000).utf8)
    return try Thread(name: "writer") {
      while block.withUnsafeBytes({
        send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) > 0
      }) {}
    }
  }
}
