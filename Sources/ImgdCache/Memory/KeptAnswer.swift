internal import CLinux

/// What is kept with an image of the answers that show it, encoded, in one piece of memory: the fields that all of them
/// share, and the end of those that tell its path.
///
/// It is no array, as a hit would count its references to one: with many pictures at random, that means to wait for
/// memory, and to write where an answer only reads. The image frees it.
@safe struct KeptAnswer {
  // Safe: it is allocated and freed here alone, has as many bytes as the counts say, and never leaves but as spans.
  private var start: UnsafeMutablePointer<UInt8>?
  private var factsCount: UInt32 = 0
  private var endingCount: UInt32 = 0

  var count: Int { Int(factsCount) + Int(endingCount) }
  /// Whether there are the fields that all answers share.
  var hasFacts: Bool { factsCount > 0 }
  /// Whether there is the end of an answer that tells the path.
  var hasEnding: Bool { endingCount > 0 }

  /// Lends both parts for the duration of the call.
  @inline(__always) func withParts<R>(_ body: (_ facts: Span<UInt8>, _ ending: Span<UInt8>) -> R) -> R {
    let all = unsafe UnsafeBufferPointer(start: start, count: count).span
    return body(all.extracting(0..<Int(factsCount)), all.extracting(Int(factsCount)..<count))
  }

  /// Where its bytes lie, to be fetched by the processor and not to be read.
  @unsafe var address: UnsafeRawPointer? { unsafe UnsafeRawPointer(start) }

  mutating func replaceFacts(by facts: [UInt8]) { self = withParts { _, ending in made(facts.span, ending) } }

  mutating func replaceEnding(by ending: [UInt8]) { self = withParts { facts, _ in made(facts, ending.span) } }

  mutating func free() {
    unsafe start?.deallocate()
    self = KeptAnswer()
  }

  /// Frees its own memory, since it gives way to what it makes.
  private func made(_ facts: Span<UInt8>, _ ending: Span<UInt8>) -> KeptAnswer {
    var made = KeptAnswer()
    let count = facts.count + ending.count
    if count > 0 {
      let room = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: count)
      unsafe facts.withUnsafeBufferPointer { facts in _ = unsafe room.update(fromContentsOf: facts) }
      unsafe ending.withUnsafeBufferPointer { bytes in _ = unsafe room[facts.count...].update(fromContentsOf: bytes) }
      unsafe made.start = room.baseAddress
      (made.factsCount, made.endingCount) = (UInt32(facts.count), UInt32(ending.count))
    }
    unsafe start?.deallocate()
    return made
  }
}

// What an image has for its answers.

extension CachedImage {
  /// Whether the fields that all answers with it share are kept with it.
  package var hasReply: Bool { header.answer.hasFacts }

  /// Whether the end of the answers that tell its path is kept with it.
  package var hasPathEnding: Bool { header.answer.hasEnding }

  /// Lends what is kept of its answers for the duration of the call, each part empty where it is not kept.
  package func withReply(_ body: (_ facts: Span<UInt8>, _ pathEnding: Span<UInt8>) -> Void) {
    header.answer.withParts(body)
  }

  func keepReply(_ facts: [UInt8]) { header.answer.replaceFacts(by: facts) }

  func keepPathEnding(_ ending: [UInt8]) { header.answer.replaceEnding(by: ending) }

  /// The term in which its file was last lent.
  var lentTerm: Int {
    get { header.lentTerm }
    set { header.lentTerm = newValue }
  }

  /// Has the processor fetch what an answer reads of an image at an address: its first fields, and its URL.
  @unsafe static func prefetchFields(at image: UnsafeRawPointer) {
    let url = unsafe image + urlOffset
    unsafe linux_prefetch(image)
    unsafe linux_prefetch(image + 64)
    unsafe linux_prefetch(image + 127)
    unsafe linux_prefetch(url)
    unsafe linux_prefetch(url + 63)
  }

  /// The fields follow the two words that every object has.
  private static var urlOffset: Int { 16 + MemoryLayout<ImageFields>.size }

  /// Has the processor fetch what an answer with the image copies.
  @unsafe func prefetchAnswer() {
    unsafe withUnsafeMutablePointerToHeader { header in
      let answer = unsafe header.pointee.answer
      guard let start = unsafe answer.address else { return }
      for line in 0...(answer.count >> 6) { unsafe linux_prefetch(start + 64 * line) }
    }
  }
}
