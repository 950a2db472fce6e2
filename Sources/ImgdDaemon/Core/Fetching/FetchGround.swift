import ImgdSystem

/// What fetches stand on, in the order of their way.
struct FetchGround {
  let pictures: PictureTiers
  let made: MadePictures
  let fleet: FleetTier
  let downloader: Downloader
  let preparation: FormPreparation
  let answers: FetchAnswers
  let hub: EventHub
  let turns: Turns
  let loop: EventLoop
}
