import ImgdCache

extension Configuration {
  /// Mistakes of sections `[Origin …]` that lie in several values together.
  func originContradictions(_ place: (_ key: String) -> String) -> [String] {
    origins.sorted { $0.key.text < $1.key.text }.flatMap { pattern, origin in
      let title = "Origin \(pattern.text)"
      var problems: [String] = []
      if pattern.isOfBucket, origin.credentialsFile.isEmpty {
        problems.append(
          "\(place(title)): [\(title)] has no CredentialsFile: name a file with the keys that sign requests for the bucket"
        )
      }
      for key in pattern.isOfBucket ? [] : origin.keysOfBuckets {
        problems.append(
          "\(place("\(title).\(key)")): \(title).\(key) is for a bucket: write it in a section [Origin s3://bucket]")
      }
      if let fallback = origin.fallback, let bucket = OriginPattern(bucketOf: fallback.example), origins[bucket] == nil
      {
        problems.append(
          "\(place("\(title).Fallback")): \(title).Fallback=\(fallback.text) needs a section [Origin \(bucket.text)]")
      }
      return problems
    }
  }
}

extension OriginPattern {
  /// The pattern of an object's bucket; nil for other URLs.
  fileprivate init?(bucketOf url: CanonicalURL) {
    guard url.scheme == .s3 else { return nil }
    self.init(host: url.host, scheme: .s3)
  }
}

extension Configuration.Origin {
  /// The keys that are set and mean nothing but for a bucket.
  fileprivate var keysOfBuckets: [String] {
    let keys = [
      ("CredentialsFile", credentialsFile.isEmpty), ("Endpoint", endpoint == nil),
      ("Region", region == nil),
    ]
    return keys.filter { !$0.1 }.map(\.0)
  }
}
