/// Work for the disk's threads.
enum DiskAttacks {
  static let all = [Attack(name: "purge-disk", body: purge)]

  /// 440 KB of purges that match nothing, and what a fetch with a path waits for: of a picture that is
  /// stored, and of one that has to be.
  private static func purge(_ siege: Siege) throws(BenchFailure) {
    let count = siege.bench.scaled(10_000, quick: 1_000)
    let imgd = try siege.daemon()
    let origin = try Origin(siege.bench)
    try imgd.fetchAll((0..<count).map(origin.url))
    try imgd.awaitStored(count)
    let attacker = try Besieger(imgd)
    let purges = (0..<siege.bench.scaled(10_000, quick: 1_000)).map {
      #"{"cmd":"purge","identifier":"\#(1_000_000 + $0)"}"#
    }
    try siege.watch(
      "purges, path of a hit", on: imgd, asking: Imgd.fetch(origin.url(1), deliver: "path"),
      atLeast: 1
    ) { () throws(BenchFailure) in try attacker.say(purges) }
    try siege.watch(
      "purges, path of a new one", on: imgd,
      asking: Imgd.fetch(origin.url(2), deliver: "path", more: #","cache":"reload""#),
      every: 0.01, atLeast: 2
    ) { () throws(BenchFailure) in try attacker.say(purges) }
  }
}
