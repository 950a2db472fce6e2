/// Wall time for pictures that nobody has yet, from one origin, 16 at a time.
///
/// The others write files into an empty directory; what the daemon does besides answering is what
/// its configuration says. Its start is not counted, the others' is: they are one-shot programs.
enum Cold {
  private struct Way {
    let name: String
    let run: () throws(BenchFailure) -> Double
    let budget: Budget?
  }

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .anywhere)
    let urls = try pictures(bench.scaled(2_000, quick: 200), at: origin)
    let ways = tools(bench, urls)
    guard bench.hasImgd else {
      bench.report.miss("imgd", "missing at \(bench.options.imgd)")
      return tell(
        bench, ways, try bench.rounds(ways, 1) { way throws(BenchFailure) in try way.run() })
    }
    let own = Way(
      name: "imgd", run: { () throws(BenchFailure) in try imgd(bench, urls) }, budget: nil)
    let times = try bench.rounds([own] + ways, min(3, bench.options.rounds)) {
      way throws(BenchFailure) in try way.run()
    }
    tell(bench, [own] + ways, times)
  }

  private static func pictures(_ count: Int, at origin: Nginx) throws(BenchFailure) -> [String] {
    var urls: [String] = []
    for index in 0..<count {
      try origin.add(PNGFile.make(bytes: 28_000, seed: UInt64(index)), as: "\(index).png")
      urls.append(origin.url("\(index).png"))
    }
    return urls
  }

  /// The first way against each of the others; how much longer the other takes.
  private static func tell(_ bench: Bench, _ ways: [Way], _ times: [[Double]]) {
    guard let first = ways.first, let ours = times.first else { return }
    for (way, theirs) in zip(ways, times).dropFirst() {
      bench.report.add(
        Row(
          what: "\(first.name): times as fast as", figure: Figure(median(ours), "s"),
          peer: way.name, ratios: Ratios(theirs, to: ours),
          budget: first.name == "imgd" ? way.budget : nil))
    }
  }

  private static func imgd(_ bench: Bench, _ urls: [String]) throws(BenchFailure) -> Double {
    let imgd = try Imgd(
      bench, place: .anywhere,
      settings: [
        "Downloads.MaxActive=16", "Downloads.MaxPerHost=16", "Memory.Capacity=200M",
        "Memory.Preferred=150M",
      ])
    defer { imgd.child.end() }
    return try imgd.fetchAll(urls)?.seconds ?? 0
  }

  private static func tools(_ bench: Bench, _ urls: [String]) -> [Way] {
    [
      tool(bench, "curl", .atLeast(0.95), urls) { list, directory in
        let config = urls.map { url in
          "url = \"\(url)\"\noutput = \"\(directory)/\(url.split(separator: "/").last ?? "")\"\n"
        }
        return (
          config.joined(),
          ["curl", "--silent", "--parallel", "--parallel-max", "16", "--config", list]
        )
      },
      tool(bench, "aria2c", .atLeast(5), urls) { list, directory in
        (
          urls.joined(separator: "\n"),
          ["aria2c", "--no-conf", "--quiet", "-j16", "-x1", "-i", list, "-d", directory]
        )
      },
      tool(bench, "wget", nil, urls) { list, directory in
        (urls.joined(separator: "\n"), ["wget", "-q", "-i", list, "-P", directory])
      },
    ].compactMap { $0 }
  }

  /// A program that takes a list and fills a directory, which is counted before it is believed.
  private static func tool(
    _ bench: Bench, _ name: String, _ budget: Budget?, _ urls: [String],
    _ recipe: @escaping (_ list: String, _ directory: String) -> (list: String, words: [String])
  ) -> Way? {
    guard Child.exists(name) else {
      bench.report.miss(name, "missing")
      return nil
    }
    return Way(
      name: name,
      run: { () throws(BenchFailure) in
        let directory = try bench.directory(name)
        let list = bench.path("list")
        let (text, words) = recipe(list, directory)
        try File.write(Array(text.utf8), to: list)
        let start = now()
        try Child.finish(words, log: bench.path("\(name).log"))
        let seconds = now() - start
        let files = File.names(in: directory).count
        guard files == urls.count else { throw .unavailable("\(name) left \(files) files") }
        return seconds
      }, budget: budget)
  }
}
