// SPDX-License-Identifier: Apache-2.0
// node send.js HOST:PORT FILE [CA]: FILE is an export request. A line for each case: "ok NAME" or "FAILED NAME: WHY".
'use strict';
const fs = require('fs');
const { grpc, ProfilesService, TraceService, Health, ExportRequest, Status, detail } = require('./messages.js');

const [to, file, ca] = process.argv.slice(2);
const request = ExportRequest.deserialize(fs.readFileSync(file));
const credentials = ca ? grpc.credentials.createSsl(fs.readFileSync(ca)) : grpc.credentials.createInsecure();
const open = (Service, options = {}) => new Service(to, credentials, options);
const GZIP = { 'grpc.default_compression_algorithm': 2 }, DEFLATE = { 'grpc.default_compression_algorithm': 1 };

// The answer, or the error that stands for it.
function call(client, method, message, fields = {}) {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(fields)) metadata.set(name, value);
  return new Promise((resolve) => {
    client[method](message, metadata, { deadline: Date.now() + 30000 }, (error, answer) => resolve({ error, answer }));
  });
}

function expect(what, wanted, found) {
  if (JSON.stringify(wanted) !== JSON.stringify(found)) {
    throw new Error(`${what} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
  }
}

async function exportsAll(times, options, fields) {
  const client = open(ProfilesService, options);
  const calls = [];
  for (let i = 0; i < times; i++) calls.push(call(client, 'Export', request, fields));
  for (const { error, answer } of await Promise.all(calls)) {
    if (error) throw error;
    expect('the answer', {}, answer);
  }
  client.close();
}

async function isRefused(Service, method, message, code, text, fields) {
  const client = open(Service);
  const { error } = await call(client, method, message, fields);
  client.close();
  if (!error) throw new Error('it is taken');
  expect('the status', grpc.status[code], error.code);
  if (!error.details.includes(text)) throw new Error(`it says: ${error.details}`);
  return error;
}

async function namesTheField() {
  const sample = { values: ['1'], stack_index: 99 };
  const broken = { resource_profiles: [{ scope_profiles: [{ profiles: [{ samples: [sample] }] }] }] };
  const error = await isRefused(ProfilesService, 'Export', broken, 'INVALID_ARGUMENT', 'stack_index 99 is not below 1');
  const status = Status.deserialize(error.metadata.get('grpc-status-details-bin')[0]);
  expect("the details' code", 3, status.code);
  expect("the details' message", error.details, status.message);
  expect("the details' type", ['type.googleapis.com/google.rpc.BadRequest'], status.details.map((d) => d.type_url));
  const [violation] = detail('BadRequest').deserialize(status.details[0].value).field_violations;
  expect('the field', 'resource_profiles[0].scope_profiles[0].profiles[0].samples[0]', violation.field);
}

async function health(service, status) {
  const client = open(Health);
  const { error, answer } = await call(client, 'Check', { service });
  client.close();
  if (error) throw error;
  expect('the health', status, answer.status);
}

const profilesService = 'opentelemetry.proto.collector.profiles.v1development.ProfilesService';
const large = { dictionary: { string_table: ['', 'x'.repeat(3 << 20)] } };
const cases = {
  'send-identity': () => exportsAll(10, {}),
  'send-gzip': () => exportsAll(10, GZIP),
  'send-deflate': () => exportsAll(10, DEFLATE),
  'send-parallel': () => exportsAll(200, GZIP, { 'otlp-profiles-development-version': '1' }),
  'send-bad-request': namesTheField,
  'send-version': () => isRefused(ProfilesService, 'Export', request, 'INVALID_ARGUMENT', 'supported version is 1',
    { 'otlp-profiles-development-version': '2' }),
  'send-too-large': () => isRefused(ProfilesService, 'Export', large, 'RESOURCE_EXHAUSTED', 'max_recv_msg_size_mib'),
  'send-traces': () => isRefused(TraceService, 'Export', {}, 'UNIMPLEMENTED', 'traces are not taken here'),
  'send-health': () => health('', 'SERVING'),
  'send-health-service': () => health(profilesService, 'SERVING'),
  'send-health-unknown': () => isRefused(Health, 'Check', { service: 'other' }, 'NOT_FOUND', 'unknown service'),
};

async function main() {
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run();
      console.log(`ok ${name}`);
    } catch (error) {
      console.log(`FAILED ${name}: ${error.message}`);
    }
  }
}

main();
