// swift-tools-version: 6.2
//
// The package of the library alone, as `make install` puts it beside its sources: it needs no C library
// but glibc. Its targets and their settings are as in the manifest of the whole project.

import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .strictMemorySafety(),
]

let package = Package(
  name: "imgd",
  products: [
    .library(name: "ImgdClient", targets: ["ImgdClient"])
  ],
  targets: [
    .target(name: "CBase64"),
    .target(name: "CLinux"),
    .target(name: "ImgdText", swiftSettings: strict),
    .target(name: "ImgdWire", dependencies: ["CBase64", "ImgdText"], swiftSettings: strict),
    .target(name: "ImgdSystem", dependencies: ["CLinux", "ImgdText"], swiftSettings: strict),
    .target(
      name: "ImgdConnection", dependencies: ["ImgdWire", "ImgdSystem"], swiftSettings: strict),
    .target(
      name: "ImgdClient",
      dependencies: ["ImgdConnection", "ImgdWire", "ImgdSystem"],
      swiftSettings: strict + [.enableExperimentalFeature("Lifetimes")]),
  ]
)
