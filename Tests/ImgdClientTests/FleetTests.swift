import ImgdClient
import Testing

/// A daemon that is one of a fleet, as the library shows it.
struct FleetTests {
  /// A client of a daemon that answers all requests with these fields.
  private func asking<Answer>(
    _ fields: String, _ question: (Imgd) async throws -> Answer
  ) async throws -> Answer {
    let daemon = try ScriptedDaemon { _, request in
      [.line(#"{"id":\#(id(request)),"ok":true,\#(fields)}"#)]
    }
    let client = Imgd(socket: daemon.path)
    do {
      let answer = try await question(client)
      await client.close()
      return answer
    } catch {
      await client.close()
      throw error
    }
  }

  @Test func `a picture may come from the fleet`() async throws {
    let picture = try await asking(#""url":"http://h/","source":"fleet""#) {
      try await $0.fetch("http://h/")
    }
    #expect(picture.source == .fleet)
  }

  @Test(
    arguments: [
      (#","fleet":"sent""#, .sent), (#","fleet":"pending""#, .pending), ("", nil),
    ] as [(String, PurgeResult.Fleet?)])
  func `a purge says whether the other hosts know of it`(
    field: String, fleet: PurgeResult.Fleet?
  ) async throws {
    let result = try await asking(#""removed":false\#(field)"#) { try await $0.purge(.everything) }
    #expect(result.fleet == fleet)
  }

  @Test func `statistics have the fleet, where there is one`() async throws {
    let fleet = try await asking(
      #""fleet":{"state":"down","reason":"no answer","hits":3,"misses":2,"stores":1,"purges":{"pending":4}}"#
    ) { try await $0.stats() }.fleet
    #expect(fleet?.state == "down" && fleet?.reason == "no answer")
    #expect(fleet?.hits == 3 && fleet?.misses == 2 && fleet?.stores == 1)
    #expect(fleet?.pendingPurges == 4)
    #expect(try await asking(#""memory":{}"#) { try await $0.stats() }.fleet == nil)
  }
}
