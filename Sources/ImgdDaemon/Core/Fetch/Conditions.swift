import ImgdCache
import ImgdTransfer

/// The request headers that ask an origin whether a stored image still holds.
enum Conditions {
  static func headers(toConfirm image: CachedImage?) -> [HeaderField] {
    guard let image else { return [] }
    var headers: [HeaderField] = []
    if let tag = image.response.entityTag { headers.append(HeaderField("If-None-Match", tag)) }
    if let date = image.response.lastModified {
      headers.append(HeaderField("If-Modified-Since", date))
    }
    return headers
  }
}
