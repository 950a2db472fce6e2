import CVips
import Glibc
import ImgdDecode
import ImgdPicture
import ImgdSystem

/// Makes pixels of a picture's first frame.
enum PixelsWork {
  static func make(_ source: Source, in box: Rendition.Box?) throws(DecodeFailure) -> MadePicture {
    if box == nil, let made = try JPEGWork.make(source) { return made }
    let picture = try FittedPicture(try source.open(), of: source, in: box).make()
    return try write(try picture.inRGBA(), frames: source.picture.frames)
  }

  /// Computes the pixels into memory that can be given away.
  static func write(_ picture: VipsPicture, frames: Int) throws(DecodeFailure) -> MadePicture {
    let (width, height) = (picture.width, picture.height)
    let memory = try OutputMemory.make(count: width * height * 4)
    try unsafe picture.write(to: memory.bytes)
    return MadePicture(
      format: nil, width: width, height: height, frames: frames, content: try OutputMemory.seal(memory))
  }
}

/// Memory for results that are given to the daemon.
enum OutputMemory {
  static func make(count: Int) throws(DecodeFailure) -> MappedMemory {
    do { return try MappedMemory(count: count) } catch {
      throw DecodeFailure(.tooLarge, "no memory for \(count) bytes: \(error.reason)")
    }
  }

  static func copy(_ bytes: some Collection<UInt8>) throws(DecodeFailure) -> Payload {
    let memory = try make(count: bytes.count)
    unsafe memory.bytes.copyBytes(from: bytes)
    return try seal(memory)
  }

  static func seal(_ memory: consuming MappedMemory) throws(DecodeFailure) -> Payload {
    do { return try memory.seal() } catch { throw DecodeFailure(.tooLarge, error.description) }
  }
}

extension VipsPicture {
  /// The picture, turned as its orientation says.
  func upright() throws(DecodeFailure) -> VipsPicture {
    guard orientation > 1 else { return self }
    // Turning reads the rows in an order other than that of decoding.
    return try computed().turned()
  }

  /// Computes the pixels into `room`, which has exactly their size.
  func write(to room: UnsafeMutableRawBufferPointer) throws(DecodeFailure) {
    precondition(room.count == width * height * bands, "the room is that of the pixels")
    let target = try unsafe VipsPicture(
      vips_image_new_from_memory(
        room.baseAddress, room.count, CInt(width), CInt(height), CInt(bands), VIPS_FORMAT_UCHAR))
    try target.copyPixels(of: self)
  }

  /// Computes the pixels of another picture into the memory of this one.
  private func copyPixels(of other: VipsPicture) throws(DecodeFailure) {
    guard unsafe vips_image_write(other.image, image) == 0 else { throw VipsError.takeFailure() }
  }

  private func turned() throws(DecodeFailure) -> VipsPicture { try unsafe VipsPicture(cvips_upright(image)) }
}
