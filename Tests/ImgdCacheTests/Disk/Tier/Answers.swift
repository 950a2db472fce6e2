import ImgdSystem
import ImgdTestSupport

@testable import ImgdCache

/// An answer without a picture, as it comes from its origin at this moment.
func answer(
  _ key: CacheKey, status: Int = 404, headers: HeaderList = fresh, tags: [String] = [],
  isFromPublicAddress: Bool = false, on stage: TierStage
) -> CachedImage {
  CachedImage.make(
    key: key, payload: Payload([]),
    facts: ImageFacts(format: 255, width: 0, height: 0, frames: 0, orientation: 0),
    response: StoredResponse(status: status, headers: headers),
    freshness: Freshness(status: status, headers: headers, receivedAt: stage.wall), tags: tags,
    serial: 1, at: stage.now, wall: stage.wall, isFromPublicAddress: isFromPublicAddress)
}

func answer(
  _ number: Int, status: Int = 404, headers: HeaderList = fresh, tags: [String] = [],
  isFromPublicAddress: Bool = false, on stage: TierStage
) -> CachedImage {
  answer(
    key(url(number)), status: status, headers: headers, tags: tags,
    isFromPublicAddress: isFromPublicAddress, on: stage)
}

func digest(_ number: Int) -> KeyDigest { KeyDigest(url: url(number), identifier: nil) }

extension TierStage {
  /// The numbers of the answers that were handed on in this life.
  var answered: [Int] {
    news.answers.joined().compactMap { image in
      image.url.text.split(separator: "/").last.flatMap { Int($0) }
    }.sorted()
  }

  /// Begins the next life, after a kill or an end in order.
  func next(_ isKill: Bool) throws { try isKill ? crash() : restart() }

  /// Keeps the writer busy until it is set.
  func busyWriter() -> Shared<Bool> {
    let mayGoOn = Shared(false)
    parts.threads.order({ _ in _ = mayGoOn.wait { $0 ? true : nil } }, then: { _ in })
    return mayGoOn
  }

  /// Turns until the first part of the answers has been handed on.
  func turnToAnswers() {
    while news.answers.isEmpty, hasJobs { loop.tick(waiting: true) }
  }
}

extension DiskPlace {
  private var indexPath: String { path + "/1/index.db" }

  func sql(_ statement: String) throws {
    let connection = try Connection(path: indexPath, isReadOnly: false)
    try connection.execute(statement)
    connection.close()
  }

  func answerCount() throws -> Int {
    let connection = try Connection(path: indexPath, isReadOnly: false)
    defer { connection.close() }
    let statement = try connection.prepare("SELECT count(*) FROM answer")
    _ = try statement.step()
    return try statement.integer()
  }

  /// Writes rows of so many answers, every second one with the tag "t", while nobody else has the index.
  func fill(_ count: Int) throws {
    let index = try IndexFile(path: indexPath, access: .readWrite)
    try index.write { () throws(IndexProblem) in
      for number in 0..<count {
        try index.answers.put(
          answerRecord(url(number), tags: number.isMultiple(of: 2) ? ["t"] : []))
      }
    }
    try index.close(clean: true)
  }

  /// Writes down purges as a process does that is killed before they are carried out.
  func record(_ orders: [RemovalOrder]) throws {
    let index = try IndexFile(path: indexPath, access: .readWrite)
    try index.write { () throws(IndexProblem) in
      for order in orders { _ = try index.removals.add(order, ceiling: 0) }
    }
    try index.close(clean: true)
  }
}
