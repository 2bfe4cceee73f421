// SPDX-License-Identifier: Apache-2.0
// The services and messages, read from proto/ and this folder's files.
'use strict';
const path = require('path');
const modules = process.env.NODE_MODULES;
const grpc = require(path.join(modules, '@grpc/grpc-js'));
const loader = require(path.join(modules, '@grpc/proto-loader'));

const root = path.resolve(__dirname, '../../..');
const definitions = loader.loadSync(
  ['collector_profiles.proto', 'status.proto', 'rpc.proto', 'health.proto', 'traces.proto'],
  { includeDirs: [path.join(root, 'proto'), __dirname], longs: String, enums: String, keepCase: true });
const services = grpc.loadPackageDefinition(definitions);

const profiles = 'opentelemetry.proto.collector.profiles.v1development';

module.exports = {
  grpc,
  ProfilesService: services.opentelemetry.proto.collector.profiles.v1development.ProfilesService,
  TraceService: services.opentelemetry.proto.collector.trace.v1.TraceService,
  Health: services.grpc.health.v1.Health,
  ExportRequest: definitions[`${profiles}.ExportProfilesServiceRequest`],
  Status: definitions['google.rpc.Status'],
  detail: (name) => definitions[`google.rpc.${name}`],
};
