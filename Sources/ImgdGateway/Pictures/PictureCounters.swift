/// What has become of the requests for pictures so far.
package struct PictureCounters: Equatable, Sendable {
  /// The bytes of pictures that were handed to the server.
  package internal(set) var bytes = 0
  /// Answers for which the daemon was not asked again.
  package internal(set) var heldHits = 0
}
