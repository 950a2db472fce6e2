/// The release that this program is.
package enum Version {
  package static let string = "0.1.0"
}
