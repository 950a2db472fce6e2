internal import CCurl

/// One of curl's transfer handles. They are reused, because a new one allocates a new buffer.
@safe final class EasyHandle {
  // Valid from init to deinit; curl's own state is only used on the transfer thread.
  let pointer: UnsafeMutableRawPointer
  private let errors: UnsafeMutablePointer<CChar>
  private var headers: UnsafeMutablePointer<curl_slist>?

  init?() {
    guard let pointer = unsafe curl_easy_init() else { return nil }
    unsafe self.pointer = unsafe pointer
    unsafe errors = .allocate(capacity: Int(CURL_ERROR_SIZE))
    reset()
  }

  deinit {
    unsafe curl_easy_cleanup(pointer)
    unsafe curl_slist_free_all(headers)
    unsafe errors.deallocate()
  }

  /// Clears all options and callback pointers, and keeps the buffer.
  func reset() {
    unsafe curl_easy_reset(pointer)
    unsafe curl_slist_free_all(headers)
    unsafe headers = nil
    unsafe errors.pointee = 0
    unsafe curl_easy_set_errors(pointer, errors)
  }

  func set(_ option: CURLoption, _ value: Int) {
    unsafe curl_easy_set_long(pointer, option, value)
  }

  /// nil clears an option that has a default.
  func set(_ option: CURLoption, _ value: String?) {
    guard let value else { return _ = unsafe curl_easy_set_string(pointer, option, nil) }
    unsafe curl_easy_set_string(pointer, option, value)
  }

  func set(_ option: CURLoption, context object: AnyObject) {
    unsafe curl_easy_set_context(
      pointer, option, Unmanaged.passUnretained(object).toOpaque())
  }

  /// Lines in curl's notation: `Name: value`, or `Name:` to leave out a field that curl would send.
  func setHeaders(_ lines: [String]) {
    for line in lines { unsafe headers = unsafe curl_slist_append(headers, line) }
    unsafe curl_easy_set_headers(pointer, headers)
  }

  /// curl's own description of its error; may be empty.
  var complaint: String { unsafe String(cString: errors) }

  /// The length that the origin announced for the body.
  var expectedLength: Int? {
    let length = unsafe curl_easy_expected_length(pointer)
    return length >= 0 ? Int(length) : nil
  }
}
