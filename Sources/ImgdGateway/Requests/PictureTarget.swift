/// The targets that stand for pictures.
package enum PictureTarget {
  /// The request of `/fetch` or of a path in the form of imgproxy; nil for any other target.
  package static func parse(_ raw: String) throws(GatewayError) -> ParsedRequest? {
    RequestTarget(raw).path == "/fetch" ? try QueryForm.parse(raw) : try PathForm.parse(raw)
  }
}
