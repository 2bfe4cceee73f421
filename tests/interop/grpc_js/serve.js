// SPDX-License-Identifier: Apache-2.0
// node serve.js [-answers A,B] [-cert FILE -key FILE] -port-file FILE -out FOLDER: keeps each request it takes as
// N.otlp. The answers go to the first requests in turn: exhausted, unavailable (with RetryInfo of 300 ms), late (none).
// A line for each request: its milliseconds, layout version and answer.
'use strict';
const fs = require('fs');
const path = require('path');
const { parseArgs } = require('util');
const { grpc, ProfilesService, ExportRequest, Status, detail } = require('./messages.js');

const text = { type: 'string' };
const { values: options } = parseArgs({
  options: { answers: text, cert: text, key: text, 'port-file': text, out: text },
  args: process.argv.slice(2).map((a) => a.replace(/^-(?=[a-z])/, '--')),
});
const answers = (options.answers || '').split(',').filter(Boolean);
const RETRY_NANOS = 300e6;
let taken = 0;

function withRetryInfo(code, message) {
  const value = detail('RetryInfo').serialize({ retry_delay: { seconds: 0, nanos: RETRY_NANOS } });
  const status = { code, message, details: [{ type_url: 'type.googleapis.com/google.rpc.RetryInfo', value }] };
  const metadata = new grpc.Metadata();
  metadata.set('grpc-status-details-bin', Status.serialize(status));
  return { code, details: message, metadata };
}

const failures = {
  exhausted: () => ({ code: grpc.status.RESOURCE_EXHAUSTED, details: 'told to answer so: 100 % €' }),
  unavailable: () => withRetryInfo(grpc.status.UNAVAILABLE, 'told to come again'),
};

function onExport(call, callback) {
  const answer = answers.shift() || 'ok';
  console.log(`${Math.round(performance.now())} ${call.metadata.get('otlp-profiles-development-version')} ${answer}`);
  if (answer === 'late') return;
  if (answer !== 'ok') {
    callback(failures[answer]());
    return;
  }
  fs.writeFileSync(path.join(options.out, `${++taken}.otlp`), ExportRequest.serialize(call.request));
  callback(null, {});
}

fs.mkdirSync(options.out, { recursive: true });
const server = new grpc.Server({ 'grpc.max_receive_message_length': 64 << 20 });
server.addService(ProfilesService.service, { Export: onExport });
const credentials = options.cert
  ? grpc.ServerCredentials.createSsl(null, [{ cert_chain: fs.readFileSync(options.cert), private_key: fs.readFileSync(options.key) }])
  : grpc.ServerCredentials.createInsecure();
server.bindAsync('127.0.0.1:0', credentials, (error, port) => {
  if (error) throw error;
  fs.writeFileSync(`${options['port-file']}.part`, `${port}\n`);
  fs.renameSync(`${options['port-file']}.part`, options['port-file']);
});
process.on('SIGTERM', () => server.forceShutdown());
