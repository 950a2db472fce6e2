/// A target that was understood, before anything is decided about it.
package struct ParsedRequest: Equatable, Sendable {
  package let source: SourceURL
  /// The values that the target itself has, without those of its preset.
  package let form: WantedForm
  package let presetName: String?
  /// Nil without a signature, and for a word that stands for none.
  package let signature: String?
  /// The part of the raw target that a signature is made of.
  package let signedText: String
  /// Seconds since 1970.
  package let expires: Int?

  init(_ given: GivenParameters, _ source: SourceURL, signature: String?, signedText: Substring) {
    self.source = source
    form = given.form
    presetName = given.presetName
    expires = given.expires
    self.signature = signature
    self.signedText = String(signedText)
  }
}
