// The last steps before a picture is answered in the form that the fetch wants: its placeholder, the rendition, and a
// file where a path is wanted.

import ImgdCache
import ImgdDecode
import ImgdSystem
import ImgdWire

final class FormPreparation {
  private let renditions: Renditions
  private let pictures: PictureTiers
  private let answers: FetchAnswers
  private let loop: EventLoop

  init(renditions: Renditions, pictures: PictureTiers, answers: FetchAnswers, loop: EventLoop) {
    self.renditions = renditions
    self.pictures = pictures
    self.answers = answers
    self.loop = loop
  }

  typealias Done = (FetchOutcome, PictureLine.Path?) -> Void

  /// Brings a picture into the form that a job wants; `then` is called once, unless the job ends before.
  func prepare(_ delivered: DeliveredImage, for job: FetchJob, then: @escaping Done) {
    guard job.request.describe, delivered.placeholder == nil else { return render(delivered, for: job, then: then) }
    let order = order(for: Rendition(.description), of: delivered.image, job)
    wait(job) { done in
      renditions.describe(order) { [unowned self] placeholder in
        done()
        var delivered = delivered
        delivered.placeholder = placeholder
        render(delivered, for: job, then: then)
      }
    }
  }

  /// Lets go of a form that a job has waited for.
  func abandon(_ place: RenditionWork.Place) { renditions.leave(place) }

  private func render(_ delivered: DeliveredImage, for job: FetchJob, then: @escaping Done) {
    guard let rendition = job.rendition, !delivered.isMade, rendition.isNeeded(for: delivered.image.facts) else {
      return store(delivered, for: job, then: then)
    }
    answers.tellPlaceholder(of: delivered, to: job)
    let order = order(for: rendition, of: delivered.image, job)
    wait(job) { done in
      renditions.make(order) { [unowned self] outcome in
        done()
        switch outcome {
        case .success(let made): store(delivered.made(made, at: loop.now), for: job, then: then)
        case .failure(let failure): then(.failure(FetchFailure(error: failure.error)), nil)
        }
      }
    }
  }

  private func order(for rendition: Rendition, of image: CachedImage, _ job: FetchJob) -> Renditions.Order {
    var tiers: Set<Tier> = []
    if job.request.keepsInMemory { tiers.insert(.memory) }
    if job.request.keepsOnDisk { tiers.insert(.disk) }
    return Renditions.Order(
      rendition: rendition, original: image, claim: DecodeClaim(of: job.request, by: job.claimant), tiers: tiers,
      countsAsUse: job.mode.counts)
  }

  /// Notes what a job waits for, unless it has come at once.
  private func wait(_ job: FetchJob, _ begin: (_ done: @escaping () -> Void) -> RenditionWork.Place?) {
    var isDone = false
    let place = begin {
      isDone = true
      job.waitingFor = .disk
    }
    if let place, !isDone { job.waitingFor = .decoder(place) }
  }

  private func store(_ delivered: DeliveredImage, for job: FetchJob, then: @escaping Done) {
    guard job.wantsPath, !delivered.image.isPixels else { return then(.image(delivered), nil) }
    job.waitingFor = .file
    pictures.lendFile(of: delivered.image, mayStore: job.request.keepsOnDisk, countsAsUse: job.mode.counts) { path in
      then(.image(delivered), path)
    }
  }
}

extension DeliveredImage {
  /// The rendition in place of its original, with what the answer says about the original.
  fileprivate func made(_ made: Renditions.Made, at now: Instant) -> DeliveredImage {
    var delivered = DeliveredImage(image: made.image, source: source)
    if source == .memory || source == .disk, let from = made.source { delivered.source = from }
    delivered.isCoalesced = isCoalesced
    delivered.isStale = isStale
    delivered.finalURL = finalURL
    delivered.isMade = true
    delivered.originalAge = ShownAge(image, at: now)
    delivered.placeholder = placeholder
    return delivered
  }
}
