// What the machine knows of each origin: a tally for each section, and one for each of the busiest hosts.
//
// A fetch or a download that ends is added to both of its tallies. A hit in memory has no time for that: it counts in the
// tally whose mark its picture has (`UseTallies`), which is that of its host or, where the host has none, of the rest of
// its section. What a section has in all is put together when somebody asks.
//
// A host that becomes busy takes the place of the least busy one, as `BusyHosts` has it.

import ImgdCache
import ImgdSystem
import ImgdTransfer

final class OriginLedger {
  static let mostHosts = 64
  /// The uses of images without a host's or a section's tally.
  private static let rest = 0
  private static let hostNumbers = 1...mostHosts
  /// No name of a host is longer, with a port behind it.
  private static let longestName = 253 + 6
  /// One of so many hits of hosts without a tally is looked at, and stands for all.
  private static let hitsForOne: UInt64 = 64

  private let rules: OriginRules
  private let uses: UseTallies
  private let loop: EventLoop
  /// By the numbers of their tallies.
  private var tallies: [OriginTally?] = Array(repeating: nil, count: UseTallies.most)
  private var sections: [OriginPattern: OriginTally] = [:]
  private var hosts: [OriginHost: OriginTally] = [:]
  /// A URL of each host, by which its section is looked up again.
  private var samples: [Int: CanonicalURL] = [:]
  private var busy = BusyHosts()
  /// The mark of the images in each tally of a rest.
  private var restMarks: [Int: UInt32] = [:]
  private var restHits: UInt64 = 0

  init(_ rules: OriginRules, memory: MemoryTier, loop: EventLoop) {
    self.rules = rules
    uses = memory.uses
    self.loop = loop
    uses.onOther = { [unowned self] image, mark in countHit(on: image, marked: mark) }
    reviewSections()
  }

  /// Takes in that the rules may have other sections. What has been counted for those that remain stays.
  func reviewSections() {
    let patterns = Set(rules.patterns)
    guard patterns != Set(sections.keys) || restMarks.isEmpty else { return }
    for (pattern, tally) in sections where !patterns.contains(pattern) {
      sections[pattern] = nil
      tallies[tally.number] = nil
      uses[tally.number] = 0
    }
    for host in hosts.values where samples[host.number].map(rules.place(of:)) != host.host { remove(host) }
    var free = (Self.mostHosts + 1..<UseTallies.most).lazy.filter { [tallies] in tallies[$0] == nil }.makeIterator()
    for pattern in patterns where sections[pattern] == nil {
      guard let number = free.next() else { break }
      let tally = OriginTally(section: pattern, host: nil, number: number, since: loop.now)
      (sections[pattern], tallies[number]) = (tally, tally)
    }
    // Every image finds its tally again when it is used.
    restMarks = [:]
    for number in [Self.rest] + sections.values.map(\.number) {
      restMarks[number] = uses.newMark(of: number)
      uses.setMark(nil, of: number)
    }
    for host in hosts.values { uses.setMark(uses.newMark(of: host.number), of: host.number) }
  }

  // MARK: Counting

  /// Has the host of a download that waits for its turn shown, if there is room; returns the tally of its section.
  func noteQueued(at place: OriginHost, _ url: CanonicalURL) -> OriginTally? {
    _ = tally(of: place, at: url, weight: 1)
    return place.section.flatMap { sections[$0] }
  }

  /// Counts a fetch of a URL that memory has not answered.
  func countFetch(of url: CanonicalURL, endedWith source: DeliveredImage.Source?, isCoalesced: Bool = false) {
    count(url) { $0.countFetch(endedWith: source, isCoalesced: isCoalesced) }
  }

  func countDownload(of url: CanonicalURL, _ outcome: TransferOutcome, isPicture: Bool) {
    count(url) { [now = loop.now] in $0.countDownload(outcome, isPicture: isPicture, at: now) }
  }

  private func count(_ url: CanonicalURL, _ change: (OriginTally) -> Void) {
    let place = rules.place(of: url)
    if let section = place.section.flatMap({ sections[$0] }) { change(section) }
    if let host = tally(of: place, at: url, weight: 1) { change(host) }
  }

  /// The tally of a host; nil where it is not one of the busiest. `weight` is how much has just happened there.
  private func tally(of place: OriginHost, at url: CanonicalURL, weight: Int) -> OriginTally? {
    if let known = hosts[place] { return known }
    guard !url.isHandedIn, place.name.utf8.count <= Self.longestName else { return nil }
    if hosts.count == Self.mostHosts {
      busy.decay(at: loop.now, total: total)
      guard busy.isBusy(place, weight: weight, total: total) else { return nil }
      guard let least = busy.leastNumber.flatMap({ tallies[$0] }) else { return nil }
      remove(least)
    }
    guard let number = Self.hostNumbers.first(where: { tallies[$0] == nil }) else { return nil }
    let tally = OriginTally(section: place.section, host: place, number: number, since: loop.now)
    (hosts[place], tallies[number]) = (tally, tally)
    // A bucket has no URL of its own.
    samples[number] = (try? CanonicalURL.parse(url.text.dropLast(url.pathAndQuery.utf8.count) + "/")) ?? url
    uses.setMark(uses.newMark(of: number), of: number)
    busy.admit(number, at: loop.now)
    return tally
  }

  /// Gives up the tally of a host; its section keeps the hits.
  private func remove(_ host: OriginTally) {
    let rest = host.section.flatMap { sections[$0]?.number } ?? Self.rest
    uses[rest] &+= uses[host.number]
    uses[host.number] = 0
    uses.setMark(nil, of: host.number)
    busy.remove(host.number)
    tallies[host.number] = nil
    samples[host.number] = nil
    if let place = host.host { hosts[place] = nil }
  }

  /// All that has happened at a host, by the number of its tally.
  private func total(_ number: Int) -> Int {
    (tallies[number]?.countedEvents ?? 0) &+ Int(truncatingIfNeeded: uses[number])
  }

  /// Counts a hit on an image that has no tally yet, or the one of a rest; returns its mark.
  private func countHit(on image: CachedImage, marked mark: UInt32) -> UInt32 {
    let number = UseTallies.number(of: mark)
    var weight = 1
    if mark != 0, restMarks[number] == mark {
      restHits &+= 1
      guard restHits % Self.hitsForOne == 0 else {
        uses[number] &+= 1
        return mark
      }
      weight = Int(Self.hitsForOne)
    }
    let url = image.url
    let place = rules.place(of: url)
    let tally = tally(of: place, at: url, weight: weight) ?? place.section.flatMap { sections[$0] }
    let now = tally?.number ?? Self.rest
    uses[now] &+= 1
    if tally?.host == nil { return restMarks[now] ?? 0 }
    return uses.mark(of: now)
  }

  // MARK: Showing

  /// One line of the ledger.
  struct Row {
    let tally: OriginTally
    /// With hits in memory.
    let requests: Int
    let hits: Int
    /// The name by which the downloads of a host are counted; nil for a section of several.
    let hostName: String?
    /// Why a file of its section cannot be used.
    let problem: String?
  }

  /// Some of the rows after a number, hosts before sections, and the number of the last one; nil at the end.
  func rows(after number: Int, most: Int) -> (members: [Row], end: Int?) {
    var members: [Row] = []
    for place in tallies.indices.dropFirst(number + 1) {
      guard let tally = tallies[place] else { continue }
      members.append(row(of: tally))
      if members.count == most { return (members, place) }
    }
    return (members, nil)
  }

  /// The busiest of the hosts, and as many of the sections.
  func busiest(most: Int) -> [Row] {
    let hosts = rows(after: Self.rest, most: Self.mostHosts).members.filter { $0.tally.host != nil }
    return hosts.sorted { $0.requests > $1.requests }.prefix(most) + rows(after: Self.mostHosts, most: most).members
  }

  private func row(of tally: OriginTally) -> Row {
    var inMemory = uses[tally.number]
    let section = tally.host == nil ? tally.section : nil
    if let section { for host in hosts.values where host.section == section { inMemory &+= uses[host.number] } }
    let name = tally.host?.name ?? section.flatMap { $0.isOfSubdomains ? nil : $0.countedName }
    let hits = Int(clamping: inMemory)
    return Row(
      tally: tally, requests: hits &+ tally.otherRequests, hits: hits &+ tally.otherHits, hostName: name,
      problem: section.flatMap(rules.fileProblem))
  }
}

extension OriginPattern {
  /// The name by which downloads from its host are counted.
  fileprivate var countedName: String {
    isOfBucket ? CanonicalURL.Scheme.s3.beginning + host : port.map { "\(host):\($0)" } ?? host
  }
}
