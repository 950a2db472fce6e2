import ImgdTestSupport
import Testing

/// Decoders that come to an end in the middle of their work.
@Suite(.serialized) struct KilledDecoderTests {
  @Test func `whatever becomes of decoders everyone gets one line for each request`() throws {
    try play(pictures: 6, kills: 8)
  }
}

/// The same, for longer.
@Suite("Decoders that are killed again and again", .slow, .serialized)
struct KilledDecoderSoakTests {
  @Test func `whatever becomes of decoders everyone gets one line for each request`() throws {
    try play(pictures: 40, kills: 100)
  }
}

private func play(pictures: Int, kills: Int) throws {
  let run = try KillRun(clients: 16, pictures: pictures)
  try run.ask()
  try run.hear(killing: kills)
  try run.expectCountsToAddUp()
  try run.expectOnlyVictimsToFail()
  try run.expectNothingToBeLeft()
}
