"""A service that says what happened with the CloudEvents SDK of Python, over HTTP or with kafka-python.

    cloud_events.py http http://127.0.0.1:7280/v1/changes --form structured EVENT...
    cloud_events.py kafka localhost:9092 --topic changes --form binary EVENT...

EVENT is JSON with id, source, type, subject and data. Exits with 0 if all was acknowledged.
"""

import argparse
import json
import sys

import requests
from cloudevents.core.bindings import http, kafka
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from kafka import KafkaProducer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=["http", "kafka"])
    parser.add_argument("address", help="a URL, or a broker")
    parser.add_argument("--topic", default="changes")
    parser.add_argument("--form", choices=["structured", "binary"], required=True)
    parser.add_argument("events", nargs="+", type=json.loads, metavar="EVENT")
    args = parser.parse_args()
    events = [cloud_event(event) for event in args.events]
    send = {"http": send_http, "kafka": send_kafka}[args.way]
    return send(args, events)


def cloud_event(event: dict) -> CloudEvent:
    attributes = {name: event[name] for name in ("id", "source", "type", "subject")}
    attributes |= {"specversion": "1.0", "datacontenttype": "application/json"}
    return CloudEvent(attributes, event["data"])


def send_http(args: argparse.Namespace, events: list) -> int:
    encode = {"structured": http.to_structured, "binary": http.to_binary}[args.form]
    for event in events:
        message = encode(event, JSONFormat())
        answer = requests.post(args.address, data=message.body, headers=message.headers, timeout=60)
        if answer.status_code != 202:
            print(f"{answer.status_code}: {answer.text}", file=sys.stderr)
            return 1
    return 0


def send_kafka(args: argparse.Namespace, events: list) -> int:
    encode = {"structured": kafka.to_structured, "binary": kafka.to_binary}[args.form]
    producer = KafkaProducer(bootstrap_servers=args.address, acks="all", retries=20)
    for event in events:
        message = encode(event, JSONFormat())
        headers = [(name, bytes(value)) for name, value in message.headers.items()]
        key = event.get_subject().encode()
        producer.send(args.topic, key=key, value=message.value, headers=headers).get(timeout=60)
    producer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
