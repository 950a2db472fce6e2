import ImgdConnection
import ImgdSystem

/// The sections `[Origin …]` and the busiest hosts, as the daemon has met them.
struct OriginCheck {
  /// So often in a row an origin has to keep the daemon out: single pictures may be forbidden, and single connections fail.
  private static let fewestRefusals = 3
  /// What is longer ago may be over: nobody has asked since.
  private static let longestAgo = 3_600
  /// Of more findings of one kind the others are counted.
  private static let most = 5

  private let origins: [Reply]
  private let uptime: Int

  init(_ answers: Interview.Answers) {
    origins = answers.origins
    uptime = answers.stats.object("process")?.number("uptime_s") ?? 0
  }

  var findings: [Finding] {
    [origins.compactMap(file), refusals, origins.compactMap(unused)].flatMap { findings in
      let more = findings.count - Self.most
      guard more > 0 else { return findings }
      return findings.prefix(Self.most) + [.note("origins", "\(more) more like that: imgctl origins")]
    }
  }

  private func name(_ origin: Reply) -> String {
    printable(origin.text("host") ?? "[Origin \(origin.text("section") ?? "?")]")
  }

  private func file(of origin: Reply) -> Finding? {
    origin.text("problem").map {
      .problem(
        "origins", "what the file had before stays in force: \($0)",
        remedy: "correct the file: imgd looks again by itself, and the next start needs it")
    }
  }

  /// A host stands for its section, which may have others.
  private var refusals: [Finding] {
    let hosts = origins.filter { $0.text("host") != nil }
    let named = Set(hosts.compactMap { $0.text("section") })
    return (hosts + origins.filter { $0.text("host") == nil && !named.contains($0.text("section") ?? "") })
      .compactMap(refusal)
  }

  private func refusal(of origin: Reply) -> Finding? {
    guard let refusal = origin.object("refusal"), let text = RefusalText(refusal), text.times >= Self.fewestRefusals,
      let age = refusal.number("age_s"), age <= Self.longestAgo
    else { return nil }
    let remedy =
      switch (refusal.number("status"), refusal.text("code")) {
      case (401, _), (403, _):
        "it may want credentials: HeaderFile in a section [Origin ...] of imgd.conf, or others than those"
      case (.some, _), (_, "truncated"), (_, "not_an_image"):
        "see which URLs fail (imgctl top), and what one of them brings: curl -sv URL"
      default: "see whether it runs, and can be reached from this machine"
      }
    let sentence = "\(name(origin)) \(text.text), the last time \(Quantity.time(seconds: age)) ago"
    // A host that the operator has a section for is one that matters.
    guard origin.text("section") != nil else { return .note("origins", sentence, remedy: remedy) }
    return .problem("origins", sentence, remedy: remedy)
  }

  private func unused(_ origin: Reply) -> Finding? {
    guard origin.text("host") == nil, origin.number("requests") == 0, origin.number("downloads") == 0,
      origin.number("queued") == 0, origin.number("active") == 0
    else { return nil }
    let age = origin.number("since_s") ?? 0
    let since = "the \(Quantity.time(seconds: age)) " + (age + 1 < uptime ? "that it is in force" : "that imgd has run")
    return .note(
      "origins", "\(name(origin)) has matched nothing in \(since)",
      remedy: "compare its name with the hosts that imgctl origins shows, if there should have been something")
  }
}
