# SPDX-License-Identifier: Apache-2.0
"""A program that is busy for a while and lets pyroscope-io tell where. What to say of itself, and how, comes from the
environment: sdks.py has the table."""
import json
import os
import time

import pyroscope

ENV = os.environ


ROUNDS = 50000


def burn_most():
    x = 1
    for i in range(4 * ROUNDS):
        x = (x * 33 + i) % 65537


def burn_rest():
    x = 1
    for i in range(ROUNDS):
        x = (x * 33 + i) % 65537


def settings():
    out = {"basic_auth_username": ENV.get("DEMO_USER"), "basic_auth_password": ENV.get("DEMO_PASSWORD"),
           "tenant_id": ENV.get("DEMO_TENANT"), "http_headers": json.loads(ENV.get("DEMO_HEADERS") or "null")}
    return {name: value for name, value in out.items() if value}


def main():
    pyroscope.configure(application_name=ENV["DEMO_NAME"], server_address=ENV["DEMO_ADDRESS"],
                        tags={"region": "eu-west-1", "team": "demo"}, upload_interval=1, enable_logging=True, **settings())
    end = time.perf_counter() + float(ENV["DEMO_SECONDS"])
    while time.perf_counter() < end:
        with pyroscope.tag_wrapper({"endpoint": "/checkout"}):
            burn_most()
        burn_rest()
    pyroscope.shutdown()


main()
