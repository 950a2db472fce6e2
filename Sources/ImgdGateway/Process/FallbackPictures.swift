import Glibc
internal import ImgdPicture
internal import ImgdSystem

/// A word of `Fallback=`: a file, for the requests of one preset or for all.
package struct FallbackFile: Equatable, Sendable {
  /// Nil for requests whose presets have none of their own.
  package let preset: String?
  package let path: String

  package init(_ path: String, of preset: String? = nil) {
    self.preset = preset
    self.path = path
  }

  var text: String { (preset.map { $0 + ":" } ?? "") + path }
}

/// The status with which a fallback picture is answered.
package enum FallbackStatus: String, Sendable, CaseIterable {
  /// That of the failure.
  case error
  case ok = "200"
}

/// The pictures that stand in for those that cannot be shown, as their files were at the start.
package struct FallbackPictures: Sendable {
  package static let none = FallbackPictures(usual: nil, ofPresets: [:])

  private let usual: FallbackPicture?
  private let ofPresets: [String: FallbackPicture]

  private init(usual: FallbackPicture?, ofPresets: [String: FallbackPicture]) {
    self.usual = usual
    self.ofPresets = ofPresets
  }

  package init(_ files: [FallbackFile]) throws(GatewayFileProblem) {
    var (usual, ofPresets): (FallbackPicture?, [String: FallbackPicture]) = (nil, [:])
    var known: [String: FallbackPicture] = [:]
    for file in files {
      let picture: FallbackPicture
      if let same = known[file.path] { picture = same } else { picture = try FallbackPicture(file.path) }
      known[file.path] = picture
      if let preset = file.preset { ofPresets[preset] = picture } else { usual = picture }
    }
    self.init(usual: usual, ofPresets: ofPresets)
  }

  /// That of the last preset that has one, or else the usual one.
  func picture(for presets: [String]) -> FallbackPicture? {
    presets.reversed().lazy.compactMap { ofPresets[$0] }.first ?? usual
  }
}

/// A picture that stands in for others.
package final class FallbackPicture: Sendable {
  /// What is shown with errors is small.
  private static let longest = 4 << 20

  /// A sealed memfd: its file may change as it likes.
  let contents: SharedDescriptor

  init(_ path: String) throws(GatewayFileProblem) {
    let name = "HTTP-Gateway.Fallback=\(path)"
    let bytes: [UInt8]
    do throws(SystemFailure) {
      // A pipe without a writer must not hold anything up.
      let file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
      guard try file.status(path).kind == .regular else { throw SystemFailure("read", path, errno: EINVAL) }
      bytes = try file.rest(Self.longest + 1, of: path)
      contents = SharedDescriptor(try Payload(bytes).shareable().openReadOnly())
    } catch { throw GatewayFileProblem("\(name) cannot be read: \(error.reason)") }
    guard bytes.count <= Self.longest else {
      throw GatewayFileProblem("\(name) has more than \(Self.longest) bytes: make it smaller")
    }
    if let problem = Self.problem(of: bytes) {
      throw GatewayFileProblem("\(name) is \(problem), not a picture: make it a PNG or a JPEG")
    }
  }

  /// What the bytes are, if not a picture of pixels.
  private static func problem(of bytes: [UInt8]) -> String? {
    do throws(NotAPicture) {
      return try PictureProbe.recognise(bytes.span).format == .svg ? "a drawing" : nil
    } catch { return error.reason }
  }
}
