private import CBench
import Glibc

/// A simulation: the connections of many hosts at one redis-server, and purges that all of them read.
///
/// Each host has a reader of the stream of purges, which asks with each answer and each second whether the
/// stream still is the one it knows, and a connection that is idle. All of them are at one loopback address;
/// the server has a processor for itself.
enum FleetReaders {
  private static let rates = [0.1, 1, 10, 100]

  static func run(_ bench: Bench, hosts: Int) throws(BenchFailure) {
    Output.say(
      "| hosts | purges a second | processor of redis | to redis | from redis "
        + "| a host has it, p50 | all have it, p50 | p99 |")
    Output.say("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for rate in rates { try simulate(bench, hosts: hosts, rate: rate) }
  }

  private static func simulate(
    _ bench: Bench, hosts: Int, rate: Double
  ) throws(BenchFailure) {
    let port = bench_free_port()
    let redis = try Redis(
      bench, port: port, settings: Redis.ofFleet + ["--maxclients", "\(2 * hosts + 100)"])
    try redis.set("imgd:generation", Array("0123456789abcdef".utf8))
    let purges = max(2, rate * bench.scaled(20, quick: 3))
    var what = bench_readers()
    what.port = CInt(port)
    what.readers = CInt(hosts)
    what.purges = UInt64(purges)
    what.interval_ns = UInt64(1e9 / rate)
    var result = bench_readers_result()
    let meter = ProcessMeter(redis.child)
    pinLoad(true)
    let before = try meter.processorTime
    // Both structures outlive the call.
    let outcome = unsafe bench_readers_run(&what, &result)
    let reason = errno
    pinLoad(false)
    guard outcome == 0 else {
      errno = reason
      throw .system("the readers of \(rate) purges a second", redis.socket)
    }
    tell(hosts, rate, try meter.processorTime - before, result)
    redis.child.end()
  }

  private static func tell(
    _ hosts: Int, _ rate: Double, _ processorTime: Double, _ result: bench_readers_result
  ) {
    let seconds = Double(result.elapsed_ns) / 1e9
    let cells = [
      "\(hosts)", decimal(rate), "\(decimal(processorTime / seconds * 100)) %",
      Figure(Double(result.bytes_to_server) / seconds, "B/s").text,
      Figure(Double(result.bytes_from_server) / seconds, "B/s").text,
      Figure(Double(result.each_p50_ns) / 1e9, "s").text,
      Figure(Double(result.last_p50_ns) / 1e9, "s").text,
      Figure(Double(result.last_p99_ns) / 1e9, "s").text,
    ]
    Output.say("| " + cells.joined(separator: " | ") + " |")
  }
}
