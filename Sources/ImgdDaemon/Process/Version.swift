import ImgdSystem

/// The release that this daemon is.
package enum Version {
  package static let string = Release.version
}
