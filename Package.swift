// swift-tools-version: 6.2
//
// Targets stand in reading order: what leans on nothing first, entry points last.
// Targets, dependencies and settings are one item a line, so that a change is one line.

import PackageDescription

/// Every access to a class's storage is watched at run time in debug builds, which all tests use. The
/// release build does without: it is a tenth of a hit (decision 5).
let unwatched = SwiftSetting.unsafeFlags(
  ["-enforce-exclusivity=unchecked"], .when(configuration: .release))

let strict: [SwiftSetting] = [
  unwatched,
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .strictMemorySafety(),
]

/// What makes pictures and reads lines for tests goes over megabytes byte by byte, which took a fifth of their time
/// without this.
let quick = SwiftSetting.unsafeFlags(["-O"], .when(configuration: .debug))

/// Tests keep the language mode and the imports, and are spared the unsafe markers.
let testing: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "imgd",
  products: [
    .executable(name: "imgd", targets: ["imgd"]),
    .executable(name: "imgd-decoder", targets: ["imgd-decoder"]),
    .executable(name: "imgctl", targets: ["imgctl"]),
    .executable(name: "imgd-http", targets: ["imgd-http"]),
    .library(name: "ImgdClient", targets: ["ImgdClient"]),
  ],
  targets: [
    // C: only what Swift cannot import as it is.
    .target(name: "CBase64"),
    .target(name: "CLinux"),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(
      name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(
      name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(
      name: "CVips", pkgConfig: "gobject-2.0", providers: [.apt(["libvips-dev"])]),
    .systemLibrary(
      name: "CRsvg", pkgConfig: "cairo", providers: [.apt(["librsvg2-dev"])]),
    .systemLibrary(
      name: "CSeccomp", pkgConfig: "libseccomp", providers: [.apt(["libseccomp-dev"])]),
    .systemLibrary(
      name: "CTLS", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
    .target(name: "CMicrohttpd", linkerSettings: [.linkedLibrary("microhttpd")]),
    .target(name: "CChafa"),
    .target(name: "CJPEG", linkerSettings: [.linkedLibrary("jpeg")]),

    // Texts: words for people, and the grammar of HTTP's header fields.
    .target(name: "ImgdText", swiftSettings: strict),

    // The control language.
    .target(name: "ImgdWire", dependencies: ["CBase64", "ImgdText"], swiftSettings: strict),

    // Safe Linux.
    .target(name: "ImgdSystem", dependencies: ["CLinux", "ImgdText"], swiftSettings: strict),

    // A program that is a service: what sets what it does, what its manager has passed it, and what it tells
    // the manager and the log.
    .target(
      name: "ImgdProgram", dependencies: ["CSystemd", "ImgdSystem", "ImgdText", "ImgdWire"],
      swiftSettings: strict),

    // Three trades that do not know each other.
    .target(
      name: "ImgdTransfer",
      dependencies: ["CCrypto", "CCurl", "ImgdSystem", "ImgdText"],
      swiftSettings: strict),
    .target(
      name: "ImgdCache",
      dependencies: ["CCurl", "CLinux", "CSQLite", "CCrypto", "ImgdSystem", "ImgdText"],
      swiftSettings: strict),
    .target(name: "ImgdPicture", swiftSettings: strict),

    // The server that the caches of many machines share.
    .target(
      name: "ImgdFleet",
      dependencies: ["CLinux", "CTLS", "ImgdCache", "ImgdSystem"],
      swiftSettings: strict),

    // The language between the daemon and its decoders.
    .target(
      name: "ImgdDecode", dependencies: ["ImgdPicture", "ImgdSystem"], swiftSettings: strict),

    // The process that decodes.
    .target(
      name: "ImgdDecoder",
      dependencies: [
        "CLinux", "CVips", "CRsvg", "CSeccomp", "CJPEG", "ImgdDecode", "ImgdPicture", "ImgdSystem",
      ],
      swiftSettings: strict),

    // Policy and composition.
    .target(
      name: "ImgdDaemon",
      dependencies: [
        "CCrypto", "ImgdText", "ImgdWire", "ImgdSystem", "ImgdProgram", "ImgdTransfer", "ImgdCache",
        "ImgdPicture", "ImgdDecode", "ImgdFleet",
      ],
      swiftSettings: strict),

    // The other end of the socket, and the daemon's counters as programs that watch it read them.
    .target(
      name: "ImgdConnection", dependencies: ["ImgdWire", "ImgdSystem"], swiftSettings: strict),

    // The same for Swift programs with tasks of their own.
    .target(
      name: "ImgdClient",
      dependencies: ["ImgdConnection", "ImgdWire", "ImgdSystem"],
      // Its pictures hand out spans.
      swiftSettings: strict + [.enableExperimentalFeature("Lifetimes")]),

    // The same for programs that speak HTTP.
    .target(
      name: "ImgdGateway",
      dependencies: [
        "CCrypto", "CMicrohttpd", "ImgdProgram", "ImgdConnection", "ImgdPicture", "ImgdWire", "ImgdSystem",
        "ImgdText",
      ],
      resources: [.embedInCode("Page/page.html")],
      swiftSettings: strict),

    .target(
      name: "ImgctlCommands",
      dependencies: ["CChafa", "ImgdConnection", "ImgdWire", "ImgdSystem", "ImgdText"],
      swiftSettings: strict),

    // Entry points.
    .executableTarget(
      name: "imgd",
      dependencies: ["ImgdDaemon"],
      swiftSettings: strict),
    .executableTarget(
      name: "imgd-decoder",
      dependencies: ["ImgdDecoder", "ImgdSystem"],
      swiftSettings: strict),
    .executableTarget(
      name: "imgctl",
      dependencies: ["ImgctlCommands", "ImgdSystem"],
      swiftSettings: strict),
    .executableTarget(
      name: "imgd-http",
      dependencies: ["ImgdGateway"],
      swiftSettings: strict),

    // Tests.
    .target(name: "CTestLinux", path: "Tests/CTestLinux"),
    .target(name: "CTestVips", dependencies: ["CVips"], path: "Tests/CTestVips"),
    .target(
      name: "ImgdTestSupport",
      dependencies: ["CTestLinux", "ImgdWire", "ImgdSystem"],
      path: "Tests/ImgdTestSupport",
      swiftSettings: testing + [quick]),
    // A decoder that breaks the rules on demand.
    .executableTarget(
      name: "lying-decoder",
      dependencies: ["CLinux", "CTestLinux", "ImgdDecode", "ImgdPicture", "ImgdSystem"],
      path: "Tests/LyingDecoder",
      swiftSettings: testing),
    // A daemon under load and faults, for minutes or for hours.
    .executableTarget(
      name: "soak",
      dependencies: ["ImgdSystem", "ImgdWire", "ImgdTestSupport"],
      path: "Tests/Soak",
      exclude: ["Grounds/interposer.c"],
      swiftSettings: testing),
    // Many entries on disk without a download, for tests and benchmarks.
    .executableTarget(
      name: "multiply-index",
      dependencies: ["ImgdCache", "ImgdSystem"],
      path: "Tests/MultiplyIndex",
      swiftSettings: testing),
    .testTarget(
      name: "ImgdTextTests",
      dependencies: ["ImgdText", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdWireTests",
      dependencies: ["ImgdWire", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdSystemTests",
      dependencies: ["ImgdSystem", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdProgramTests",
      dependencies: ["CTestLinux", "ImgdProgram", "ImgdSystem", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdTransferTests",
      dependencies: ["ImgdTransfer", "ImgdSystem", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdCacheTests",
      dependencies: ["ImgdCache", "ImgdSystem", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdFleetTests",
      dependencies: ["ImgdFleet", "ImgdCache", "ImgdSystem", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdPictureTests",
      dependencies: ["ImgdPicture", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdDecodeTests",
      dependencies: ["CLinux", "ImgdDecode", "ImgdPicture", "ImgdSystem", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdDecoderTests",
      dependencies: [
        "CTestVips", "ImgdDecoder", "ImgdDecode", "ImgdPicture", "ImgdSystem", "ImgdTestSupport",
      ],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdDaemonTests",
      dependencies: [
        "CTestLinux", "ImgdDaemon", "ImgdProgram", "ImgdTransfer", "ImgdCache", "ImgdPicture",
        "ImgdDecode", "ImgdFleet", "ImgdConnection", "ImgdWire", "ImgdSystem", "ImgdTestSupport",
        "lying-decoder",
      ],
      swiftSettings: testing),
    .testTarget(
      name: "ImgctlTests",
      dependencies: [
        "ImgctlCommands", "ImgdConnection", "ImgdWire", "ImgdSystem", "ImgdTestSupport",
      ],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdClientTests",
      dependencies: ["ImgdClient", "ImgdConnection", "ImgdWire", "ImgdSystem", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "ImgdGatewayTests",
      dependencies: [
        "CTestLinux", "ImgdGateway", "ImgdProgram", "ImgdConnection", "ImgdWire", "ImgdSystem",
        "ImgdTestSupport",
      ],
      swiftSettings: testing),
    .testTarget(
      name: "BlackBoxTests",
      dependencies: ["ImgdWire", "ImgdSystem", "ImgdTestSupport"],
      swiftSettings: testing),
    .testTarget(
      name: "SystemdTests",
      dependencies: ["CTestLinux", "ImgdWire", "ImgdSystem", "ImgdTestSupport"],
      exclude: ["boot", "fetch-newer-systemd", "make-layer"],
      swiftSettings: testing),
  ]
)

// imgctl is shipped as Embedded Swift: all that it uses of the standard library is compiled into it. The
// runtime that a static standard library brings takes five megabytes before a program's first line
// (decision 20). `.ci/build-release` asks for this, in a place of its own.
if Context.environment["IMGD_EMBEDDED"] != nil {
  package.targets.append(
    .target(
      name: "EmbeddedGlibc",
      linkerSettings: [.linkedLibrary("swiftUnicodeDataTables"), .linkedLibrary("m")]))
  let parts = ["ImgdText", "ImgdWire", "ImgdSystem", "ImgdConnection", "ImgctlCommands", "imgctl"]
  for target in package.targets where parts.contains(target.name) {
    target.dependencies.append("EmbeddedGlibc")
    target.swiftSettings?.append(.enableExperimentalFeature("Embedded"))
    // The daemon's alone, with references of a kind that takes the runtime.
    if target.name == "ImgdSystem" { target.exclude = ["MemoryPressure", "Routes"] }
  }
}

// One program with all fuzzers, which is built with coverage and a sanitizer in every module: `.ci/fuzz` asks for it.
if Context.environment["IMGD_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "fuzz",
      dependencies: [
        "ImgdDaemon", "ImgdGateway", "ImgdConnection", "ImgdProgram", "ImgdTransfer", "ImgdCache", "ImgdPicture",
        "ImgdDecode", "ImgdFleet", "ImgdWire", "ImgdSystem", "ImgdText",
      ],
      path: "Tests/Fuzz",
      exclude: ["Corpus", "corpora.py", "oracles.py"],
      swiftSettings: testing))
}
