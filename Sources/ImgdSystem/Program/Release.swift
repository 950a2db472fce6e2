/// The release of daemon and client.
package enum Release {
  package static let version = "0.1.0"
}
