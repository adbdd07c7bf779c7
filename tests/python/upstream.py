"""An upstream team with Confluent's own client, which nobody here wrote: it sends Avro with a registry, and
reads `ready-urgent` and `ready` as somebody would who delivers by themselves.

    upstream.py send-change --id 1 --source shop --type artwork.published --subject artwork:901 --data '{"title": "Ebb"}'
    upstream.py send-row --topic gallery.works --schema row.avsc --key 7 --value '{"id": 7, "title": "Ebb"}'
    upstream.py read-ready --count 1 --seconds 30

The servers are TIDINGS_KAFKA and TIDINGS_REGISTRY, or --kafka and --registry. Exits with 0 if all was sent and
acknowledged, or if so many records were read; else with 1. `read-ready` prints one JSON object a line: key,
partition, offset and value; bytes are hexadecimal digits, instants RFC 3339.
"""

import argparse
import datetime
import json
import os
import pathlib
import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import SchemaRegistryClient, record_subject_name_strategy
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

SCHEMAS = pathlib.Path(__file__).parent / "../../schemas"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", default=os.environ.get("TIDINGS_KAFKA"), help="bootstrap servers")
    parser.add_argument("--registry", default=os.environ.get("TIDINGS_REGISTRY"), help="root of the registry's API")
    parser.add_argument("--prefix", default="", help="before the names of Tidings' topics")
    commands = parser.add_subparsers(dest="command", required=True)

    change = commands.add_parser("send-change", help="a change on `changes`, in Tidings' own schema")
    for name in ("id", "source", "type"):
        change.add_argument(f"--{name}", required=True)
    for name in ("subject", "actor"):
        change.add_argument(f"--{name}")
    change.add_argument("--time", help="RFC 3339")
    change.add_argument("--version", type=int)
    change.add_argument("--data", type=json.loads, default={}, help="fields as JSON")

    row = commands.add_parser("send-row", help="a record of your own schema on a topic of your own")
    row.add_argument("--topic", required=True)
    row.add_argument("--schema", type=pathlib.Path, required=True, help="an .avsc file")
    row.add_argument("--key", default="")
    row.add_argument("--value", type=json.loads, required=True, help="the record as JSON")
    row.add_argument("--partitions", type=int, default=2, help="of the topic, which is made if it is not there")

    ready = commands.add_parser("read-ready", help="read `ready-urgent` and `ready` from their beginning")
    ready.add_argument("--count", type=int, default=1)
    ready.add_argument("--seconds", type=float, default=30)

    args = parser.parse_args()
    if not args.kafka or not args.registry:
        parser.error("--kafka and --registry are needed, or TIDINGS_KAFKA and TIDINGS_REGISTRY")
    return {"send-change": send_change, "send-row": send_row, "read-ready": read_ready}[args.command](args)


def send_change(args: argparse.Namespace) -> int:
    value = {
        "id": args.id,
        "source": args.source,
        "type": args.type,
        "subject": args.subject,
        "time": args.time and datetime.datetime.fromisoformat(args.time.replace("Z", "+00:00")),
        "actor": args.actor,
        "version": args.version,
        "data": args.data,
    }
    # What is not given has a default in the schema.
    value = {name: field for name, field in value.items() if field is not None}
    schema = (SCHEMAS / "change.avsc").read_text()
    return send(args, f"{args.prefix}changes", schema, args.source, value, {"auto.register.schemas": True})


def send_row(args: argparse.Namespace) -> int:
    # Several sorts of records may share a topic when each schema goes by its record's name.
    admin = AdminClient({"bootstrap.servers": args.kafka})
    if args.topic not in admin.list_topics(timeout=30).topics:
        admin.create_topics([NewTopic(args.topic, args.partitions, 1)])[args.topic].result(30)
    how = {"auto.register.schemas": True, "subject.name.strategy": record_subject_name_strategy}
    return send(args, args.topic, args.schema.read_text(), args.key, args.value, how)


def send(args: argparse.Namespace, topic: str, schema: str, key: str, value: dict, how: dict) -> int:
    registry = SchemaRegistryClient({"url": args.registry})
    serialise = AvroSerializer(registry, schema, conf=how)
    payload = serialise(value, SerializationContext(topic, MessageField.VALUE))
    failures = []

    def delivered(error, message):
        if error is not None:
            failures.append(error)
            return
        place = {"topic": message.topic(), "partition": message.partition(), "offset": message.offset()}
        print(json.dumps({**place, "schema": int.from_bytes(payload[1:5], "big")}))

    producer = Producer({"bootstrap.servers": args.kafka, "enable.idempotence": True})
    producer.produce(topic, key=key or None, value=payload, on_delivery=delivered)
    left = producer.flush(30)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures or left else 0


def read_ready(args: argparse.Namespace) -> int:
    topics = [f"{args.prefix}ready-urgent", f"{args.prefix}ready"]
    deserialise = AvroDeserializer(SchemaRegistryClient({"url": args.registry}))
    consumer = Consumer({
        "bootstrap.servers": args.kafka,
        "group.id": f"upstream-{os.getpid()}",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    })
    there = {topic: consumer.list_topics(topic, timeout=30).topics[topic].partitions for topic in topics}
    consumer.assign([TopicPartition(topic, partition, 0) for topic in topics for partition in there[topic]])
    deadline, found = time.monotonic() + args.seconds, 0
    while found < args.count and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is None:
            continue
        if message.error():
            print(message.error(), file=sys.stderr)
            return 1
        topic = message.topic()
        value = deserialise(message.value(), SerializationContext(topic, MessageField.VALUE))
        place = {"topic": topic, "partition": message.partition(), "offset": message.offset()}
        print(json.dumps({"key": message.key().hex(), **place, "value": value}, default=plain))
        found += 1
    consumer.close()
    return 0 if found >= args.count else 1


def plain(value):
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(type(value))


if __name__ == "__main__":
    sys.exit(main())
