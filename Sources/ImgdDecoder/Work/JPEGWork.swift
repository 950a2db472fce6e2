import CJPEG
import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem

/// Pixels of an ordinary JPEG, which most pictures are, without libvips: it takes a quarter of the time.
enum JPEGWork {
  /// Nil for those that need more: CMYK, or other colours than those of a screen.
  static func make(_ source: Source) throws(DecodeFailure) -> MadePicture? {
    guard source.format == .jpeg, try isOrdinary(source) else { return nil }
    let (width, height) = (source.picture.width, source.picture.height)
    let memory = try OutputMemory.make(count: width * height * 4)
    guard try unsafe decode(source, to: memory.bytes) else { return nil }
    guard source.picture.orientation > 1 else {
      return MadePicture(
        format: nil, width: width, height: height, frames: 1,
        content: try OutputMemory.seal(memory))
    }
    let lying = try unsafe VipsPicture(pixels: memory.bytes, width: width, height: height)
    lying.set("orientation", source.picture.orientation)
    return try PixelsWork.write(try lying.upright(), frames: 1)
  }

  private static func isOrdinary(_ source: Source) throws(DecodeFailure) -> Bool {
    var profile: UnsafeMutablePointer<UInt8>?
    var count = 0
    let isOrdinary = try unsafe call { reason in
      unsafe jpeg_profile(source.start, source.count, &profile, &count, reason)
    }
    guard let profile = unsafe profile else { return isOrdinary }
    defer { unsafe free(profile) }
    let bytes = unsafe [UInt8](UnsafeBufferPointer(start: profile, count: count))
    return isOrdinary && ColourProfile.isScreen(bytes)
  }

  private static func decode(_ source: Source, to room: UnsafeMutableRawBufferPointer)
    throws(DecodeFailure) -> Bool
  {
    try unsafe call { reason in
      unsafe jpeg_pixels(
        source.start, source.count, CInt(source.picture.width), CInt(source.picture.height),
        room.baseAddress?.assumingMemoryBound(to: UInt8.self), reason)
    }
  }

  /// Whether it was decoded; false for what is not decoded here.
  private static func call(_ body: (UnsafeMutablePointer<CChar>) -> jpeg_result)
    throws(DecodeFailure) -> Bool
  {
    var failure: DecodeFailure?
    let isDecoded = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 200) { room in
      guard let reason = room.baseAddress else { return false }
      let result = unsafe body(reason)
      if result == JPEG_DAMAGED {
        failure = unsafe DecodeFailure(.damaged, String(cString: reason))
      }
      return result == JPEG_DECODED
    }
    if let failure { throw failure }
    return isDecoded
  }
}
