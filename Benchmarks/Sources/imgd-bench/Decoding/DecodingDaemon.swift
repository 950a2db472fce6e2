/// A daemon that has the pictures of a set in memory, and decodes them anew for each request.
struct DecodingDaemon {
  /// What is made is not kept.
  private static let unkept = #","store":"none""#

  let imgd: Imgd
  private let requests: Contender
  private let connections: Int
  private let pictures: Int

  /// Without a number there are as many decoders as processors. What is made is delivered as a descriptor in
  /// any case; `form` are further fields of the requests.
  init(
    _ bench: Bench, _ set: PictureSet, workers: Int? = nil, deliver: String, form: String = ""
  ) throws(BenchFailure) {
    let number = workers.map(String.init) ?? "auto"
    imgd = try Imgd(
      bench, place: .anywhere,
      settings: Imgd.roomy + ["Decode.Workers=\(number)", "Disk.Enabled=no"])
    try imgd.fetchAll(set.urls)
    pictures = set.urls.count
    requests = imgd.hits(
      set.urls, deliver: deliver, more: form + Self.unkept, framing: .descriptors)
    // One order for each decoder to work on, and one that waits.
    connections = min(2 * (workers ?? Place.processors), set.urls.count)
  }

  /// Asks for all pictures once, and returns pictures a second.
  func rate() throws(BenchFailure) -> Double {
    try wakeDecoders()
    let before = try imgd.stat("decode", "completed")
    let result = try requests.askOnce(Shape(connections: connections, depth: 1))
    let made = try imgd.stat("decode", "completed") - before
    guard made == result.replies, result.descriptors == result.replies else {
      throw .unavailable(
        "\(made) made and \(result.descriptors) delivered for \(result.replies) requests")
    }
    guard try imgd.stat("downloads", "started") == pictures else {
      throw .unavailable("a picture was fetched anew")
    }
    return result.perSecond
  }

  /// Decoders are started by orders that wait, and end when there are none for long.
  private func wakeDecoders() throws(BenchFailure) {
    let few = Contender(
      name: requests.name, socket: requests.socket,
      requests: Array(requests.requests.prefix(connections)), framing: .descriptors)
    for _ in 0..<2 { _ = try few.askOnce(Shape(connections: few.requests.count, depth: 1)) }
  }

  func end() { imgd.child.end() }
}
