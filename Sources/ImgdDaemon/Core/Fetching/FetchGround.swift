import ImgdSystem

/// The objects that the stages of a fetch share, in the order in which a fetch meets them.
struct FetchGround {
  let origins: OriginRules
  let ledger: OriginLedger
  let pictures: PictureTiers
  let made: MadePictures
  let own: OwnPictures
  let fleet: FleetTier
  let downloader: Downloader
  let copies: HandedBytes
  let preparation: FormPreparation
  let answers: FetchAnswers
  let hub: EventHub
  let turns: Turns
  let loop: EventLoop
}

/// A stage of fetches, with access to the objects that all of them share.
protocol FetchPart { var ground: FetchGround { get } }

extension FetchPart {
  @inline(__always) var origins: OriginRules { ground.origins }
  @inline(__always) var ledger: OriginLedger { ground.ledger }
  @inline(__always) var pictures: PictureTiers { ground.pictures }
  @inline(__always) var made: MadePictures { ground.made }
  @inline(__always) var own: OwnPictures { ground.own }
  @inline(__always) var fleet: FleetTier { ground.fleet }
  @inline(__always) var downloader: Downloader { ground.downloader }
  @inline(__always) var copies: HandedBytes { ground.copies }
  @inline(__always) var preparation: FormPreparation { ground.preparation }
  @inline(__always) var answers: FetchAnswers { ground.answers }
  @inline(__always) var hub: EventHub { ground.hub }
  @inline(__always) var turns: Turns { ground.turns }
  @inline(__always) var loop: EventLoop { ground.loop }
}
