// SPDX-License-Identifier: Apache-2.0
// A program that is busy for a while and lets @pyroscope/nodejs tell where. What to say of itself, and how, comes from the
// environment: sdks.py has the table. Run it where the package is installed: NODE_MODULES names the folder.
'use strict';
const {createRequire} = require('module');
const {performance} = require('perf_hooks');
const {pathToFileURL} = require('url');

const found = createRequire(pathToFileURL(`${process.env.NODE_MODULES}/`))('@pyroscope/nodejs');
const profiler = found.default || found;
const env = process.env;
const rounds = 4e6;
let counter = 1;

function burnMost() {
  for (let i = 0; i < 4 * rounds; i++) counter = (counter * 33 + i) | 0;
}

function burnRest() {
  for (let i = 0; i < rounds; i++) counter = (counter * 33 + i) | 0;
}

const given = {
  authToken: env.DEMO_TOKEN, basicAuthUser: env.DEMO_USER, basicAuthPassword: env.DEMO_PASSWORD, tenantID: env.DEMO_TENANT,
};

profiler.init({
  appName: env.DEMO_NAME,
  serverAddress: env.DEMO_ADDRESS,
  tags: {region: 'eu-west-1', team: 'demo'},
  flushIntervalMs: 60000, // stop() sends: a round that falls due while it runs would throw
  wall: {collectCpuTime: true},
  ...Object.fromEntries(Object.entries(given).filter(([, value]) => value)),
});

async function main() {
  profiler.startWallProfiling();
  for (const end = performance.now() + 1000 * env.DEMO_SECONDS; performance.now() < end;) {
    profiler.wrapWithLabels({endpoint: '/checkout'}, burnMost);
    burnRest();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await profiler.stop();
}

main();
