package import ImgdDecode
import ImgdSystem

/// Carries out orders. Nothing of one order remains for the next.
package enum DecodeWork {
  /// Carries out an order, and returns what became of it.
  package static func answer(_ order: DecodeOrder) -> DecodeAnswer {
    order.picture.withBytes { bytes in
      unsafe bytes.withUnsafeBufferPointer { bytes in
        VipsError.forget()
        do throws(DecodeFailure) {
          let source = try unsafe Source(bytes, format: order.format, limits: order.limits)
          do throws(DecodeFailure) { return try make(source, order.rendition) } catch { throw source.explained(error) }
        } catch { return .failure(error) }
      }
    }
  }

  private static func make(_ source: Source, _ rendition: Rendition) throws(DecodeFailure) -> DecodeAnswer {
    switch rendition.output {
    case .pixels: .picture(try PixelsWork.make(source, in: rendition.box))
    case .file(let format, let quality): .picture(try FileWork.make(source, rendition, format, quality: quality))
    case .description: .description(try DescriptionWork.make(source))
    }
  }
}
