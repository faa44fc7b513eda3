#!/usr/bin/env node
// Starts the program that the package of this platform brings. Nothing is downloaded or built.
"use strict";

const { spawn } = require("node:child_process");
const os = require("node:os");
const path = require("node:path");

const program = path.basename(process.argv[1], ".js");
const wanted = `trunkline-${process.platform}-${process.arch}`;

let file;
try {
  // One program: it is what it is called.
  file = require.resolve(`${wanted}/bin/trunkline${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(
    `error: Trunkline has no program for ${process.platform} on ${process.arch}, or the package ` +
      `\`${wanted}\` was left out\n\nInstall again without --omit=optional; or build it from source: ` +
      "cargo install --locked --path crates/app",
  );
  process.exit(1);
}

const child = spawn(file, process.argv.slice(2), { argv0: program, stdio: "inherit" });
// A signal for this process is meant for the program. Of one from the terminal it has its own already.
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
process.on("SIGINT", () => {});
child.on("error", (error) => {
  console.error(`error: ${file} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal === null ? code : 128 + os.constants.signals[signal]);
});
