/// One name that is looked up, and everybody who waits for its addresses.
final class NamedLookup {
  /// One transfer's wait for a name.
  final class Question {
    fileprivate(set) weak var lookup: NamedLookup?
    let uid: UInt32
    fileprivate let ticket: UInt64
    let answer: (NameAnswer) -> Void

    fileprivate init(to lookup: NamedLookup, by uid: UInt32, ticket: UInt64, answer: @escaping (NameAnswer) -> Void) {
      self.lookup = lookup
      self.uid = uid
      self.ticket = ticket
      self.answer = answer
    }
  }

  let name: String
  /// The user whose turn it took; nil while it waits in line.
  var startedFor: UInt32?
  private var questions: [UInt64: Question] = [:]
  private var askers: [UInt32: Int] = [:]
  private var lastTicket: UInt64 = 0

  init(_ name: String) { self.name = name }

  var isWanted: Bool { !questions.isEmpty }

  /// Whether it waits in line for that user.
  func waits(for uid: UInt32) -> Bool { startedFor == nil && askers[uid] != nil }

  func ask(for uid: UInt32, _ answer: @escaping (NameAnswer) -> Void) -> Question {
    lastTicket += 1
    let question = Question(to: self, by: uid, ticket: lastTicket, answer: answer)
    questions[lastTicket] = question
    askers[uid, default: 0] += 1
    return question
  }

  /// Returns false if the question has been answered already.
  func withdraw(_ question: Question) -> Bool {
    guard questions.removeValue(forKey: question.ticket) != nil else { return false }
    let rest = askers[question.uid, default: 1] - 1
    askers[question.uid] = rest > 0 ? rest : nil
    return true
  }

  /// Answers all questions, in the order in which they were asked; an answer may withdraw other questions.
  func answer(with answer: NameAnswer) {
    for ticket in questions.keys.sorted() { questions.removeValue(forKey: ticket)?.answer(answer) }
  }
}
