import ImgdFleet
import ImgdTestSupport
import ImgdWire
import Testing

@testable import ImgdDaemon

struct FleetStatsTests {
  private static let fields = [
    "state", "server", "hits", "misses", "waits", "timeouts", "stores", "refused", "overtaken",
    "invalid", "bytes_read", "bytes_stored", "purges",
  ]

  @Test func `the fleet tells its state, and why it is not better`() throws {
    let fleet = PlannedFleet()
    let stage = try CoreStage(in: fleet)
    var stats = try stage.client.ask(#"{"cmd":"stats"}"#)
    #expect(stats["fleet"]?["state"]?.string == "connecting")
    #expect(stats["fleet"]?["server"]?.string == "planned:6379")
    #expect(stats["fleet"]?["reason"] == nil)
    fleet.tell(.state(FleetState(.refused, "maxmemory-policy is allkeys-lru")))
    stats = try stage.client.ask(#"{"cmd":"stats"}"#)
    #expect(stats["fleet"]?["state"]?.string == "refused")
    #expect(stats["fleet"]?["reason"]?.string == "maxmemory-policy is allkeys-lru")
  }

  @Test func `each server for pictures tells its state, and the fleet keeps its own`() throws {
    let fleet = PlannedFleet()
    let stage = try CoreStage(in: fleet, "Fleet.Server=s:1", "Fleet.Pictures=a:1 b:1")
    fleet.tell(.state(FleetState(.ok)))
    fleet.tell(.pictures(server: 1, FleetState(.down, "b:1 is gone")))
    let stats = try stage.client.ask(#"{"cmd":"stats"}"#)
    #expect(stats["fleet"]?["state"]?.string == "ok")
    let servers = try #require(stats["fleet"]?["pictures"]?.array)
    #expect(servers.map { $0["server"]?.string } == ["a:1", "b:1"])
    #expect(servers.map { $0["state"]?.string } == ["connecting", "down"])
    #expect(servers.map { $0["reason"]?.string } == [nil, "b:1 is gone"])
  }

  @Test func `every figure of the fleet is there from the start`() throws {
    let stage = try CoreStage(in: PlannedFleet())
    let stats = try stage.client.ask(#"{"cmd":"stats"}"#)
    for field in Self.fields { #expect(stats["fleet"]?[field] != nil, "\(field)") }
    for field in ["sent", "heard", "pending", "waiting", "gaps"] {
      #expect(stats["fleet"]?["purges"]?[field]?.integer == 0, "\(field)")
    }
    #expect(stats["latency_us"]?["fleet"]?["count"]?.integer == 0)
    #expect(stats["held"]?["fleet"]?.integer != nil)
  }

  @Test func `a machine alone has no figures of a fleet`() throws {
    let stage = try CoreStage()
    let stats = try stage.client.ask(#"{"cmd":"stats"}"#)
    #expect(stats["fleet"] == nil && stats["latency_us"]?["fleet"] == nil)
    #expect(stats["held"]?["fleet"]?.integer == 0)
  }
}
