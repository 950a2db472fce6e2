/// Cached pictures against the same bytes as a file of nginx, and in its cache, all on Unix sockets.
enum GatewayHits {
  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench)
    let imgd = try Imgd(bench, settings: Imgd.roomy)
    let gateway = try ImgdHTTP(bench, before: imgd)
    let proxy = bench.start("nginx cache") { () throws(BenchFailure) in
      try CachingNginx(bench, origin: origin)
    }
    try origin.add(PNGFile.make(bytes: 28_000, seed: 1), as: "200001.png")
    let photo = try PictureSet(bench, origin, "photo", .jpeg, count: 1, width: 1_200, height: 800)
    let url = photo.urls[0]
    try origin.add(
      try gateway.body("/fetch?url=\(url)\(GatewayMeasurement.form)", bench), as: "200002.jpg")
    let pictures = [
      ("28 kB", "200001.png", gateway.hits([origin.url("200001.png")])),
      ("300×200", "200002.jpg", gateway.hits([url], form: GatewayMeasurement.form)),
    ]
    for (name, file, ours) in pictures {
      let cached = proxy?.hits([origin.url(file)])
      try compare(bench, name, [ours, origin.get(file)] + [cached].compactMap { $0 })
    }
    let many = try origin.addPictures(bench.scaled(2_000, quick: 200), bytes: 28_000)
    try imgd.fetchAll(many)
    try compareInTurn(bench, "28 kB", gateway.hits(many), origin.inTurn(many), least: 0.8)
    let photos = try PictureSet(
      bench, origin, "small", .jpeg, count: many.count, width: 400, height: 300)
    let forms = gateway.hits(photos.urls, form: GatewayMeasurement.form)
    let form = try gateway.body("/fetch?url=\(photos.urls[0])\(GatewayMeasurement.form)", bench)
    let files = photos.urls.indices.map { "\(400_000 + $0).jpg" }
    for file in files { try origin.add(form, as: file) }
    _ = try forms.askOnce(Shape(connections: 4, depth: 1))
    try compareInTurn(
      bench, "300×200", forms, origin.inTurn(files.map(origin.url)), least: 0.7)
  }

  private static func compareInTurn(
    _ bench: Bench, _ name: String, _ ours: Contender, _ theirs: Contender, least: Double
  ) throws(BenchFailure) {
    try compare(bench, "\(ours.requests.count) of \(name) in turn", [ours, theirs], least: [least])
  }

  /// The first is ours; then nginx with a file, and nginx with its cache.
  private static func compare(
    _ bench: Bench, _ name: String, _ contenders: [Contender], least: [Double] = [0.6, 0.8]
  ) throws(BenchFailure) {
    for contender in contenders { _ = try contender.ask(.alone, for: 0.05) }
    for shape in GatewayMeasurement.shapes {
      let results = try Contender.compare(
        contenders, shape, rounds: bench.options.rounds, seconds: bench.scaled(0.5, quick: 0.1))
      let rates = results.map { $0.map(\.perSecond) }
      for (peer, least) in zip(1..<contenders.count, least) {
        bench.report.add(
          Row(
            what: "\(name) \(shape.name)", figure: Figure(median(rates[0]), "/s"),
            peer: contenders[peer].name, ratios: Ratios(rates[0], to: rates[peer]),
            budget: .atLeast(least)))
      }
    }
  }
}
