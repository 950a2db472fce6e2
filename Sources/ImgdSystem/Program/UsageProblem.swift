/// A command line that cannot be meant: what is wrong with it, and what would be right, in a sentence.
package struct UsageProblem: Error, Equatable, CustomStringConvertible {
  package let description: String

  package init(_ sentence: String) {
    description = sentence
  }
}
