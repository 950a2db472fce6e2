import Glibc
import ImgdSystem
import ImgdTestSupport
import Testing

@testable import ImgdGateway

/// What the threads of a gateway have in common.
struct GatewayCommonsTests {
  private func commons(_ change: (inout GatewayConfiguration) -> Void) throws -> GatewayCommons {
    var configuration = GatewayConfiguration()
    change(&configuration)
    let listener = try HTTPListener(address: "127.0.0.1", port: 0)
    return GatewayCommons(
      configuration, try GatewayFiles(configuration), at: try listener.makePlace()
    ) { "" }
  }

  @Test(arguments: [(1, 10, [10]), (3, 10, [4, 3, 3]), (4, 2, [1, 1])])
  func `the connections are divided among them`(workers: Int, most: Int, parts: [Int]) throws {
    let commons = try commons {
      $0.workers = workers
      $0.maxConnections = most
    }
    #expect(commons.tallies.indices.map(commons.connections(of:)) == parts)
  }

  @Test func `there are no more connections than descriptors for them`() async {
    await #expect(processExitsWith: .success) {
      var limit = rlimit(rlim_cur: 2_048, rlim_max: 2_048)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let commons = try GatewayCommonsTests().commons { $0.workers = 2 }
      // Two for each, and one for each picture that is held; a quarter is for the rest.
      precondition((0...1).map(commons.connections(of:)) == [128, 128], "they are divided")
      precondition(commons.held == HeldPictures.fewest, "there is one for each picture")
    }
  }

  @Test func `what connections do not need is for pictures`() async {
    await #expect(processExitsWith: .success) {
      for (descriptors, most) in [(7_000, 1_625), (16_384, HeldPictures.most)] {
        var limit = rlimit(rlim_cur: rlim_t(descriptors), rlim_max: 16_384)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        let commons = try GatewayCommonsTests().commons {
          $0.workers = 2
          $0.maxConnections = 1_000
        }
        precondition(commons.held == most, "\(commons.held) are held of \(descriptors)")
      }
    }
  }

  @Test func `by default there are some, and few`() throws {
    let workers = try commons { _ in }.tallies.count
    #expect(1...4 ~= workers && workers <= max(1, Processors.count / 2))
  }

  @Test func `what they count is added`() throws {
    let commons = try commons { $0.workers = 2 }
    for tally in commons.tallies {
      tally.server.accepted.add()
      tally.server.countAnswer(200)
      tally.server.countAnswer(404)
      tally.pictures.bytes.add(100)
      tally.pictures.held.add()
    }
    commons.tallies[1].server.closed.add()
    let counters = commons.counters
    #expect(counters.server.connections == 1 && counters.server.accepted == 2)
    #expect(counters.server.answers == [0, 2, 0, 2, 0])
    #expect(counters.bytesSent == 200 && counters.held == 2 && counters.limited == 0)
  }
}
