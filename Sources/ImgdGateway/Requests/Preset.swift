/// A named form of a picture, such as `thumb:300x200:cover`.
package struct Preset: Equatable, Sendable {
  package let name: String
  package var form = WantedForm()
}
