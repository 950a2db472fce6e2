import ImgdSystem
import ImgdWire

/// A client that gets the terminal line of a fetch, and the form in which it wants the picture.
struct Recipient {
  let client: ReplyPlace
  let id: RequestID
  let receipt: ReceiptID
  let request: FetchRequest
  let delivery: Delivery
  let startedAt: Instant

  init(
    _ client: ReplyPlace, _ request: FetchRequest, delivery: Delivery? = nil, id: RequestID, receipt: ReceiptID,
    startedAt: Instant
  ) {
    self.client = client
    self.id = id
    self.receipt = receipt
    self.request = request
    self.delivery = delivery ?? request.delivery
    self.startedAt = startedAt
  }
}
