// swift-tools-version: 6.2
//
// The benchmarks, a package of their own: nobody who builds or tests imgd has to build them. They use the programs
// of imgd from outside, as anybody does, and none of its modules (`docs/performance.md`).

import PackageDescription

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .strictMemorySafety(),
]

let package = Package(
  name: "imgd-benchmarks",
  products: [
    .executable(name: "imgd-bench", targets: ["imgd-bench"])
  ],
  targets: [
    // Where the headers are that those of libvips include.
    .systemLibrary(
      name: "CGObject", pkgConfig: "gobject-2.0", providers: [.apt(["libvips-dev"])]),
    // The load, which has to cost less than any server, and what the libraries do without a daemon.
    .target(
      name: "CBench",
      dependencies: ["CGObject"],
      linkerSettings: [
        .linkedLibrary("vips"), .linkedLibrary("gobject-2.0"), .linkedLibrary("glib-2.0"),
        .linkedLibrary("jpeg"),
      ]),
    .executableTarget(
      name: "imgd-bench",
      dependencies: ["CBench"],
      swiftSettings: strict),
  ]
)
