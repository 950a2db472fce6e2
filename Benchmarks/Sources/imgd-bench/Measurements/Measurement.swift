/// One measurement: a word on the command line, and a section of the report.
///
/// A new one is a file beside this with a function `run`, and a line in `all`.
struct Measurement: Sendable {
  let name: String
  let about: String
  let body: @Sendable (Bench) throws(BenchFailure) -> Void

  static let all = [
    Measurement(name: "hits", about: "a fetch of a cached picture", body: Hits.run),
    Measurement(name: "clients", about: "hits as clients ask for them", body: Clients.run),
    Measurement(
      name: "pictures", about: "a picture into the client's hands", body: PictureDelivery.run),
    Measurement(name: "disk", about: "a hit of the disk tier", body: Disk.run),
    Measurement(name: "fleet", about: "pictures and purges of ten hosts", body: Fleet.run),
    Measurement(name: "http", about: "pictures over HTTP", body: GatewayMeasurement.run),
    Measurement(name: "cold", about: "pictures from a loopback nginx, 16 active", body: Cold.run),
    Measurement(name: "store", about: "until such pictures are files", body: Store.run),
    Measurement(name: "crowd", about: "many clients ask one cold URL", body: Crowd.run),
    Measurement(name: "cost", about: "the cost of a hit for the server", body: Cost.run),
    Measurement(name: "start", about: "with many pictures on disk", body: Start.run),
    Measurement(name: "trim", about: "the disk tier above its capacity", body: Trim.run),
    Measurement(name: "memory", about: "resident, and held per picture", body: Memory.run),
    Measurement(name: "answers", about: "answers that are no pictures", body: Answers.run),
    Measurement(name: "mixed", about: "hits while TLS connects run", body: Mixed.run),
    Measurement(
      name: "steady", about: "a hit's wait beside the heaviest work", body: Steady.run),
    Measurement(name: "decode", about: "pixels and thumbnails", body: Decode.run),
    Measurement(
      name: "gallery", about: "thumbnails of more pictures than there is room for",
      body: Gallery.run),
    Measurement(name: "idle", about: "wake-ups with nothing to do", body: Idle.run),
    Measurement(
      name: "siege", about: "what others wait for while one attacks (siege:NAME for one attack)",
      body: Siege.run),
    Measurement(
      name: "load", about: "a hit's wait beside crowds and floods (load:NAME for one of them)", body: BesideLoad.run),
  ]

  func run(_ bench: Bench) throws(BenchFailure) {
    bench.report.begin(name, about)
    do throws(BenchFailure) {
      try body(bench)
    } catch {
      bench.report.miss(name, error.reason)
    }
    bench.endServers()
    pinLoad(false)
  }
}
