/// The release that daemon and client are built from together.
package enum Release {
  package static let version = "0.1.0"
}
