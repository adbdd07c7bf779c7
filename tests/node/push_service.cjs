// A push service for browsers, with the browsers: npm's web-push-testing, which checks and decrypts what it is sent. It is
// spoken with within TLS; the browsers' side, which asks for subscriptions and reads what arrived, is plain.
//
//   node push_service.cjs HOST PLAIN_HOST PORT KEY_AND_CERTIFICATE
const fs = require('fs');
const http = require('http');
const https = require('https');
const {PushApiModel} = require('web-push-testing/src/PushApiModel.js');
const Server = require('web-push-testing/src/server.js');

const [host, plainHost, port, file] = process.argv.slice(2);
const model = new PushApiModel();
const service = new Server(model, Number(port));
model.notifyUrl = `https://${host}:${port}/notify/`;
service.setRequestHandlers();
const pem = fs.readFileSync(file);
http.createServer(service._app).listen(Number(port), plainHost, () => {
  https.createServer({key: pem, cert: pem}, service._app).listen(Number(port), host, () => console.log('ready'));
});
