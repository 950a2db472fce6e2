/// The cost of one hit for the server: processor time, system calls, allocations.
enum Cost {
  private struct Subject {
    let contender: Contender
    let child: Child
  }

  static func run(_ bench: Bench) throws(BenchFailure) {
    let origin = try Nginx(bench, place: .load)
    try origin.add(PNGFile.make(bytes: 28_000, seed: 1), as: "a.png")
    let url = origin.url("a.png")
    var subjects: [Subject] = []
    if let imgd = bench.start("imgd", { () throws(BenchFailure) in try Imgd(bench) }) {
      try imgd.expect(Imgd.fetch(url, deliver: "path"))
      subjects.append(Subject(contender: imgd.hit(url, deliver: "path"), child: imgd.child))
    }
    if let redis = bench.start("redis", { () throws(BenchFailure) in try Redis(bench) }) {
      try redis.set("picture", [UInt8](repeating: 0x78, count: 300))
      subjects.append(Subject(contender: redis.get("picture"), child: redis.child))
    }
    let floor = try Floor(bench, replyBytes: 330)
    let line = Array((Imgd.fetch(url, deliver: "path") + "\n").utf8)
    subjects.append(Subject(contender: floor.contender(request: line), child: floor.child))
    pinLoad(true)
    for shape in Shape.all {
      try processorTime(bench, subjects, shape)
    }
    for shape in Shape.all {
      try systemCalls(bench, subjects, shape)
    }
    try allocations(bench, url)
  }

  // MARK: Processor time

  private static func processorTime(
    _ bench: Bench, _ subjects: [Subject], _ shape: Shape
  ) throws(BenchFailure) {
    let seconds = bench.scaled(0.5, quick: 0.1)
    let costs = try bench.rounds(subjects) { subject throws(BenchFailure) in
      let facts = ProcessMeter(subject.child)
      let before = try facts.processorTime
      let replies = try subject.contender.ask(shape, for: seconds).replies
      return (try facts.processorTime - before) / Double(replies)
    }
    tell(bench, "CPU a hit \(shape.name)", "s", subjects, costs)
  }

  /// The first against each of the others.
  private static func tell(
    _ bench: Bench, _ what: String, _ unit: String, _ subjects: [Subject], _ costs: [[Double]]
  ) {
    guard let first = subjects.first, let ours = costs.first else { return }
    let own = first.contender.name == "imgd path" ? "" : first.contender.name + " "
    for (subject, theirs) in zip(subjects, costs).dropFirst() {
      bench.report.add(
        Row(
          what: own + what, figure: Figure(median(ours), unit), peer: subject.contender.name,
          ratios: Ratios(ours, to: theirs)))
    }
  }

  // MARK: System calls

  private static func systemCalls(
    _ bench: Bench, _ subjects: [Subject], _ shape: Shape
  ) throws(BenchFailure) {
    guard Child.exists("strace") else { return bench.report.miss("system calls", "no strace") }
    let counts = try bench.rounds(subjects, 1) { subject throws(BenchFailure) in
      try traced(bench, subject, shape)
    }
    tell(bench, "calls a hit \(shape.name)", "", subjects, counts)
  }

  private static func traced(
    _ bench: Bench, _ subject: Subject, _ shape: Shape
  ) throws(BenchFailure) -> Double {
    let summary = bench.path("strace")
    let tracer = try Child(
      ["strace", "-c", "-f", "-o", summary, "-p", "\(subject.child.pid)"],
      log: bench.path("strace.log"))
    try tracer.awaitReady("strace") { (File.text(tracer.log) ?? "").contains("attached") }
    let result = try subject.contender.ask(shape, for: bench.scaled(1, quick: 0.3))
    tracer.end()
    let total = (File.text(summary) ?? "").split(separator: "\n").last ?? ""
    // "100.00  1.23  4  303021  12 total": the errors' column may be empty.
    guard let calls = total.split(separator: " ").dropFirst(3).first.flatMap({ Double($0) }) else {
      throw .unavailable("strace counted nothing: \(tracer.lastWords)")
    }
    return calls / Double(result.replies)
  }

  // MARK: Allocations

  private static func allocations(_ bench: Bench, _ url: String) throws(BenchFailure) {
    guard bench.hasImgd else { return }
    guard Child.exists("cc") else { return bench.report.miss("allocations", "no cc") }
    let counter = try AllocationCounter(bench)
    let imgd = try Imgd(bench, environment: "LD_PRELOAD=\(counter.preload)")
    try imgd.expect(Imgd.fetch(url, deliver: "path"))
    for shape in Shape.all {
      let contender = imgd.hit(url, deliver: "path")
      _ = try contender.ask(shape, for: 0.1)
      let before = counter.count
      let replies = try contender.ask(shape, for: bench.scaled(0.5, quick: 0.1)).replies
      let each = Double(counter.count - before) / Double(replies)
      bench.report.add(
        Row(
          what: "allocations a hit \(shape.name)", figure: Figure(each, ""), peer: "one a hit",
          ratios: Ratios([each]), budget: .atMost(0.05)))
    }
  }
}

/// A library that counts a process's allocations in a file. It is built here because it must be a
/// shared object.
struct AllocationCounter {
  let preload: String
  private let counts: String

  init(_ bench: Bench) throws(BenchFailure) {
    preload = bench.path("allocations.so")
    counts = bench.workplace + "/allocations"
    let source = bench.options.packagePath + "/Tests/Allocations/allocations.c"
    try Child.finish(
      ["cc", "-O2", "-shared", "-fPIC", "-DCOUNTS=\"\(counts)\"", source, "-o", preload],
      log: bench.path("cc.log"))
  }

  /// Allocations so far.
  var count: Int {
    let bytes = File.read(counts) ?? []
    return Int(bytes.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}
