/// Pictures in other forms: pixels and thumbnails made by the daemon's decoders, each in its sandbox, against
/// libraries and programs without a daemon; and what is felt of decoders by those who do not need one.
///
/// Nothing is pinned to a processor: decoders use all of them, and so do the peers, as far as they can.
enum Decode {
  static func run(_ bench: Bench) throws(BenchFailure) {
    guard bench.hasImgd else { throw .unavailable("imgd is missing at \(bench.options.imgd)") }
    let decoder = bench.options.program("imgd-decoder")
    guard File.isProgram(decoder) else {
      throw .unavailable("imgd-decoder is missing at \(decoder)")
    }
    let origin = try Nginx(bench, place: .anywhere)
    let small = try PictureSet(
      bench, origin, "JPEG 640×480", .jpeg, count: bench.scaled(1_000, quick: 200), width: 640,
      height: 480, bytes: 28_000)
    let large = try PictureSet(
      bench, origin, "JPEG 24 MP", .jpeg, count: bench.scaled(20, quick: 8), width: 6_000,
      height: 4_000)
    try DecodeRates.run(bench, origin, small, large)
    try ThumbnailRates.run(bench, small, large)
    try PixelHits.run(bench, origin)
    try DecoderMemory.run(bench, small)
    try HitsBesideDecoding.run(bench, origin, large)
  }
}
