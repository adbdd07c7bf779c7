// A service that says what happened with the CloudEvents SDK of JavaScript, over HTTP or with KafkaJS.
//
//   node cloud_events.cjs http http://127.0.0.1:7280/v1/changes structured EVENT...
//   node cloud_events.cjs kafka localhost:9092 changes binary EVENT...
//
// EVENT is JSON with id, source, type, subject and data. Exits with 0 if all was acknowledged.
const {CloudEvent, HTTP, Kafka: KafkaMessage} = require('cloudevents');
const {Kafka, logLevel} = require('kafkajs');

const cloudEvent = text => new CloudEvent({...JSON.parse(text), datacontenttype: 'application/json'});

async function sendHttp([address, form, ...events]) {
  for (const event of events.map(cloudEvent)) {
    const {headers, body} = HTTP[form](event);
    const answer = await fetch(address, {method: 'POST', headers, body});
    if (answer.status !== 202) throw new Error(`${answer.status}: ${await answer.text()}`);
  }
}

async function sendKafka([broker, topic, form, ...events]) {
  const client = new Kafka({clientId: 'outside', brokers: [broker], logLevel: logLevel.ERROR});
  const producer = client.producer();
  await producer.connect();
  for (const event of events.map(cloudEvent)) {
    const {headers: all, value, body} = KafkaMessage[form](event);
    // The SDK names attributes that are not there, and KafkaJS takes no header without a value.
    const headers = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const bytes = value ?? body;
    const text = typeof bytes === 'string' || Buffer.isBuffer(bytes) ? bytes : JSON.stringify(bytes);
    await producer.send({topic, acks: -1, messages: [{key: event.subject, value: text, headers}]});
  }
  await producer.disconnect();
}

const [way, ...words] = process.argv.slice(2);
({http: sendHttp, kafka: sendKafka})[way](words).catch(error => {
  console.error(error);
  process.exit(1);
});
