/// A named form of a picture, such as `thumb:300x200:cover`.
package struct Preset: Equatable, Sendable {
  package let name: String
  package var width: Int?
  package var height: Int?
  package var fit: PictureRequest.Fit?
  package var crop: PictureRequest.Crop?
  package var format: PictureRequest.Format?
  package var quality: Int?

  package init(name: String) {
    self.name = name
  }
}
