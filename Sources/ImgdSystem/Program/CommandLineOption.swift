/// One option that a program understands, as `--name`, `--name=VALUE` or `-n`.
package struct CommandLineOption: Sendable {
  package let name: String
  package let letter: Character?
  package let takesValue: Bool

  package init(_ name: String, letter: Character? = nil, takesValue: Bool = false) {
    self.name = name
    self.letter = letter
    self.takesValue = takesValue
  }
}
